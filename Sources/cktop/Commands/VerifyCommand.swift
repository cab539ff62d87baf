import ArgumentParser
import CloudKit
import CloudSync
import Facts
import JSONText

/// `cktop verify`.
struct VerifyCommand: Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compare the local copy with the server and print the differences per zone.",
    discussion: """
      Changes nothing. Pending edits do not count as differences. Fetches every record from the server: each zone from \
      the start of its change feed, the public database by its known record types. With --json, onlyLocal, onlyServer \
      and different are counts; the record names are in onlyLocalNames, onlyServerNames and differentNames. The exit \
      code is 1 if anything differs.
      """
  )

  @Flag(help: "Print one JSON object per zone.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try session.storeToRead()
    let differences: [ZoneDifference]
    do {
      differences = try await session.engine(store).verify()
    } catch let error as StoreError where error.kind == .otherUser {
      throw session.failure(ofStrangers: error)
    } catch let error as WebServicesError {
      // Exit code 1 means differences. They are unknown if the server could not be read to the end.
      let failure = CommandFailure(error)
      throw failure.status == .itemsFailed ? CommandFailure(failure.message, .cloudUnreachable) : failure
    }
    if differences.isEmpty || store.knowsNoTypes {
      OutputStream.error.line(
        "cktop: no record types are known, so nothing was compared; name them with cktop sync --types A,B"
      )
    }
    for difference in differences {
      OutputStream.standard.lines(json ? [difference.json.line] : difference.lines.map(\.visible))
    }
    try (differences.allSatisfy(\.isEmpty) ? CommandStatus.done : .itemsFailed).end()
  }
}

extension ZoneDifference {
  /// The zone's differences as JSON, with the record names.
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
      return ["\(zone.zone): not compared, no record types are known; name them with cktop sync --types A,B"]
    }
    guard !isEmpty else { return ["\(zone.zone): no differences, \(Words.count(recordCount, "record"))"] }
    let counts = "\(onlyLocal.count) only local, \(onlyServer.count) only on the server, \(different.count) different"
    return ["\(zone.zone): \(counts)"] + onlyLocal.map { "  only local: \($0)" }
      + onlyServer.map { "  only on the server: \($0)" } + different.map { "  different: \($0)" }
  }
}
