import ArgumentParser
import CloudKit
import CloudSync
import Facts
import JSONText

/// `cktop verify`.
struct VerifyCommand: Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compare the local copy with the server, and repair it with --repair.",
    discussion: """
      Prints the differences per zone. Pending edits do not count as differences. Fetches every record from the server: \
      each zone from the start of its change feed, the public database by its known record types. With --json, \
      onlyLocal, onlyServer and different are counts; the record names are in onlyLocalNames, onlyServerNames and \
      differentNames. The exit code is 1 if anything differs.

      Changes nothing without --repair. With it, zones that differ, or the zone of --zone in any case, are fetched from \
      the start by a sync, which also sends what can be sent. Unsent changes are kept. Then the differences are checked \
      again: repaired is the number of records that no longer differ. Deletions of many records are put on hold; \
      decide about them with cktop zones accept or restore.
      """
  )

  @Option(help: "The zone to compare; by default all zones.") var zone: String?
  @Flag(help: "Fetch what differs again.") var repair = false
  @Flag(help: "Print one JSON object per zone.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try repair ? session.storeToCommand() : session.storeToRead()
    let engine = try session.engine(store)
    var results: [(found: ZoneDifference, left: ZoneDifference)] = []
    do {
      let found = try await engine.verify { zone == nil || $0.zone == zone }
      if let zone, found.isEmpty { throw CommandFailure("there is no zone \(zone)", .itemsFailed) }
      results = try await repair ? repaired(found, engine, session) : found.map { ($0, $0) }
    } catch let error as StoreError where error.kind == .otherUser {
      throw session.failure(ofStrangers: error)
    } catch let error as WebServicesError {
      // Exit code 1 means differences. They are unknown if the server could not be read to the end.
      let failure = CommandFailure(error)
      throw failure.status == .itemsFailed ? CommandFailure(failure.message, .cloudUnreachable) : failure
    }
    if results.isEmpty || store.knowsNoTypes {
      OutputStream.error.line(
        "cktop: no record types are known, so nothing was compared; name them with cktop sync --types A,B"
      )
    }
    for (found, left) in results {
      let lines = json ? [left.json(found).line] : left.lines(found, isRepaired: repair).map(\.visible)
      OutputStream.standard.lines(lines)
    }
    let isDone = results.allSatisfy { $0.left.isEmpty }
    if !isDone, !repair { OutputStream.error.line("cktop: to fetch what differs again, run cktop verify --repair") }
    try (isDone ? CommandStatus.done : .itemsFailed).end()
  }

  /// Has the zones that differ fetched again, and compares what differed.
  private func repaired(_ found: [ZoneDifference], _ engine: SyncEngine, _ session: Session) async throws
    -> [(found: ZoneDifference, left: ZoneDifference)]
  {
    let zones = found.filter { zone != nil || !$0.isEmpty }.map(\.zone)
    guard !zones.isEmpty else { return found.map { ($0, $0) } }
    try engine.store.fetchAgain(zones, actor: Operator.name)
    let summary = try await engine.syncOnce()
    if let error = summary.error { throw error }
    var results: [(found: ZoneDifference, left: ZoneDifference)] = []
    for difference in found {
      var left = ZoneDifference(zone: difference.zone, recordCount: difference.recordCount)
      left.isCompared = difference.isCompared
      try await engine.compare(difference.names, &left)
      results.append((difference, left))
    }
    return results
  }
}

extension ZoneDifference {
  /// The zone's differences as JSON, with the record names.
  ///
  /// - Parameter found: the differences before a repair.
  fileprivate func json(_ found: ZoneDifference) -> JSONObject {
    [
      "zone": .text(zone.zone), "owner": .unlessEmpty(zone.owner),
      "records": .integer(Int64(recordCount)), "compared": .bool(isCompared),
      "onlyLocal": .integer(Int64(onlyLocal.count)),
      "onlyServer": .integer(Int64(onlyServer.count)), "different": .integer(Int64(different.count)),
      "onlyLocalNames": .array(onlyLocal.map(OutputJSON.text)),
      "onlyServerNames": .array(onlyServer.map(OutputJSON.text)),
      "differentNames": .array(different.map(OutputJSON.text)),
      "repaired": .integer(Int64(found.names.count - names.count)),
    ]
  }

  /// - Parameters:
  ///   - found: the differences before a repair.
  ///   - isRepaired: whether there was one.
  fileprivate func lines(_ found: ZoneDifference, isRepaired: Bool) -> [String] {
    guard isCompared else {
      return ["\(zone.zone): not compared, no record types are known; name them with cktop sync --types A,B"]
    }
    guard !found.isEmpty else { return ["\(zone.zone): no differences, \(Words.count(recordCount, "record"))"] }
    let left = Set(names)
    func lines(_ names: [String], _ did: String, _ differs: String) -> [String] {
      names.map { "  \(left.contains($0) ? differs : did): \($0)" }
    }
    let mended = found.names.count - names.count
    let counts = "\(onlyLocal.count) only local, \(onlyServer.count) only on the server, \(different.count) different"
    let state = isRepaired ? "repaired \(Words.count(mended, "record"))\(isEmpty ? "" : ", still \(counts)")" : counts
    return ["\(zone.zone): \(state)"] + lines(found.onlyLocal, "deleted", "only local")
      + lines(found.onlyServer, "added", "only on the server") + lines(found.different, "replaced", "different")
  }
}
