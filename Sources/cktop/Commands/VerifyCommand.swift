import ArgumentParser
import CloudKit
import CloudSync

/// `cktop verify`.
struct VerifyCommand: Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares mirror and server and prints the differences, zone by zone.",
    discussion: """
      Changes neither; pending edits are no differences. Reads every record of the server: a zone from the beginning \
      of its feed, the public database by the record types that are known. With --json, onlyLocal, onlyServer and \
      different are counts; the records' names are beside them. Exit code 1 where anything differs.
      """
  )

  @Flag(help: "A JSON object a zone.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try session.storeToRead()
    let differences: [ZoneDifference]
    do {
      differences = try await session.engine(store).verify()
    } catch let error as StoreError where error.kind == .otherUser {
      throw session.failure(ofStrangers: error)
    } catch let error as WebServicesError {
      // 1 says that there are differences; that is not known where the server could not be read to the end.
      let failure = CommandFailure(error)
      throw failure.status == .itemsFailed ? CommandFailure(failure.message, .cloudUnreachable) : failure
    }
    if differences.isEmpty || store.knowsNoTypes {
      OutputStream.error.line(
        "cktop: no record type is known here, so nothing was compared; name some with cktop sync --types A,B"
      )
    }
    for difference in differences {
      OutputStream.standard.lines(json ? [difference.json.line] : difference.lines.map(\.visible))
    }
    try (differences.allSatisfy(\.isEmpty) ? CommandStatus.done : .itemsFailed).end()
  }
}

extension ZoneDifference {
  /// The zone's differences as the documentation has it, with the names.
  fileprivate var json: JSONObject {
    [
      "zone": .text(zone.zone), "owner": .unlessEmpty(zone.owner),
      "records": .integer(Int64(recordCount)), "compared": .bool(isCompared),
      "onlyLocal": .integer(Int64(onlyLocal.count)),
      "onlyServer": .integer(Int64(onlyServer.count)), "different": .integer(Int64(different.count)),
      "onlyLocalNames": .array(onlyLocal.map(OutputJSON.text)),
      "onlyServerNames": .array(onlyServer.map(OutputJSON.text)),
      "differentNames": .array(different.map(OutputJSON.text)),
    ]
  }

  fileprivate var lines: [String] {
    guard isCompared else {
      return ["\(zone.zone): not compared, no record type of it is known; cktop sync --types A,B reads some"]
    }
    guard !isEmpty else { return ["\(zone.zone): equal, \(recordCount) records"] }
    let counts = "\(onlyLocal.count) only here, \(onlyServer.count) only on the server, \(different.count) different"
    return ["\(zone.zone): \(counts)"] + onlyLocal.map { "  only here: \($0)" }
      + onlyServer.map { "  only on the server: \($0)" } + different.map { "  different: \($0)" }
  }
}
