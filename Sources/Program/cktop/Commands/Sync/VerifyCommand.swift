import ArgumentParser
import CloudKit
import CloudService
import CloudSync
import Facts
import JSONText

/// `cktop verify`.
struct VerifyCommand: ChangingVerb {
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
      again; the JSON key repaired is the number of records that no longer differ. Deletions can be put on hold; cktop \
      zones accept or restore decides about them, and the exit code is 3 until then.
      """
  )

  @Option(help: "The zone to compare; by default all zones.", completion: .zones) var zone: String?
  @OptionGroup var whose: ZoneOwner
  @Flag(help: "Fetch zones that differ again.") var repair = false
  @Flag(help: .json("Print one JSON object per zone.", ZoneDifference.printed)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try repair ? session.storeToCommand() : session.storeToRead()
    if repair { try session.refuseOtherPolicy(store) }
    let owner = whose.owner
    // Without an owner, every zone of that name is compared.
    if owner != nil { _ = try store.zoneKey(zone, of: whose) }
    let engine = try session.engine(store)
    var results: [(found: ZoneDifference, left: ZoneDifference)] = []
    var report: SyncReport?
    do {
      let found = try await engine.verify { zone == nil || $0.zone == zone && (owner == nil || $0.owner == owner) }
      if let zone, found.isEmpty { throw CommandFailure.noZone(zone) }
      results = found.map { ($0, $0) }
      if repair { report = try await fetchAgain(&results, engine, session) }
    } catch let error as StoreError where error.kind == .otherUser {
      throw session.failure(ofOtherUser: error)
    } catch let error as WebServicesError {
      // Exit code 1 means differences. They are unknown if the server could not be read to the end.
      let failure = error.failure
      throw failure.status == .itemsFailed ? CommandFailure(failure.message, .cloudUnreachable) : failure
    }
    if results.isEmpty || store.knowsNoTypes {
      OutputFile.error.line(
        "cktop: no record types are known, so nothing was compared; name them with cktop sync --types A,B"
      )
    }
    // A default zone that nothing uses here says nothing beside zones that were compared.
    let isUsed = { (found: ZoneDifference) in found.isCompared || zone != nil }
    let shown = json || !results.contains { isUsed($0.found) } ? results : results.filter { isUsed($0.found) }
    for (found, left) in shown { try json ? left.printJSON(found) : left.print(found, isRepaired: repair) }
    let isDone = results.allSatisfy { $0.left.isEmpty }
    if !isDone, !repair {
      let options = [("zone", zone), ("owner", owner)].compactMap { name, value in
        value.map { " --\(name) \($0.asArgument)" }
      }
      OutputFile.error.line(
        "cktop: to fetch what differs again, run cktop verify --repair\(options.joined())".visible
      )
    }
    if !isDone, let pauses = report?.state.pauses, !pauses.isEmpty {
      OutputFile.error.line("cktop: \(pauses.reasons); run \(pauses.resumeCommands), then repair again".visible)
    }
    try CommandStatus.combined([isDone ? .done : .itemsFailed, report?.status ?? .done]).end()
  }

  /// Fetches the zones that differ from the start, and compares again the records that differed.
  ///
  /// - Returns: the report of the sync; nil if nothing had to be fetched.
  private func fetchAgain(
    _ results: inout [(found: ZoneDifference, left: ZoneDifference)],
    _ engine: SyncEngine,
    _ session: Session
  ) async throws -> SyncReport? {
    let zones = results.map(\.found).filter { zone != nil || !$0.isEmpty }.map(\.zone)
    guard !zones.isEmpty else { return nil }
    let startedAt = SyncStore.currentTime
    _ = try ServiceCommand.fetchAgain(zones).run(on: { engine.store }).checked()
    let summary = try await engine.syncOnce()
    if let error = summary.error { throw error }
    let left = try await engine.verify(again: results.map(\.found))
    results = zip(results, left).map { ($0.found, $1) }
    let reader = session.reader(engine.store)
    let report = try SyncReport(summary, startedAt: startedAt, reader)
    try report.reportRest(reader, since: startedAt)
    return report
  }
}

extension ZoneDifference: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "zone": .text(\.zone.zone), "owner": .unlessEmpty(\.zone.owner), "records": .integer(\.recordCount),
    "compared": .bool(\.isCompared), "onlyLocal": .integer { $0.count(.onlyLocal) },
    "onlyServer": .integer { $0.count(.onlyServer) }, "different": .integer { $0.count(.different) },
  ]

  private static let lists: [(key: String, kind: Kind)] = [
    ("onlyLocalNames", .onlyLocal), ("onlyServerNames", .onlyServer), ("differentNames", .different),
  ]
  private static let repaired = "repaired"

  /// The output, which ends with the names of the records and the number of those that no longer differ.
  static let printed = shape.adding(JSONShape(fields: (lists.map(\.key) + [repaired]).map { .init(name: $0) }))

  /// Prints the zone's differences as a line of JSON, with the record names. There may be any number of them, so they
  /// are written in pieces.
  ///
  /// - Parameter found: the differences before a repair.
  fileprivate func printJSON(_ found: ZoneDifference) throws {
    let output = OutputFile.standard
    output.write(String(json.line.dropLast()))
    for (key, kind) in Self.lists {
      output.write(", \"\(key)\": [")
      var last = ""
      while true {
        let separator = last.isEmpty ? "" : ", "
        guard let names = try names(kind, after: &last) else { break }
        output.write(separator + names.map { OutputJSON.text($0).line }.joined(separator: ", "))
      }
      output.write("]")
    }
    output.line(", \"\(Self.repaired)\": \(found.count - self.count)}")
  }

  /// Prints the zone's differences, with the record names.
  ///
  /// - Parameters:
  ///   - found: the differences before a repair.
  ///   - isRepaired: whether there was one.
  fileprivate func print(_ found: ZoneDifference, isRepaired: Bool) throws {
    let output = OutputFile.standard
    output.line("\(zone.title): \(summary(found, isRepaired: isRepaired))".visible)
    guard isCompared else { return }
    let lists: [(Kind, did: String, differs: String)] = [
      (.onlyLocal, "deleted", "only local"), (.onlyServer, "added", "only on the server"),
      (.different, "replaced", "different"),
    ]
    for (kind, did, differs) in lists {
      var last = ""
      while let names = try found.names(kind, after: &last) {
        output.lines(try names.map { "  \(try contains($0) ? differs : did): \($0)".visible })
      }
    }
  }

  private func summary(_ found: ZoneDifference, isRepaired: Bool) -> String {
    guard isCompared else { return "not compared, no record types are known; name them with cktop sync --types A,B" }
    guard !found.isEmpty else { return "no differences, \(Words.count(recordCount, "record"))" }
    let counts =
      "\(count(.onlyLocal)) only local, \(count(.onlyServer)) only on the server, \(count(.different)) different"
    guard isRepaired else { return counts }
    return "repaired \(Words.count(found.count - count, "record"))\(isEmpty ? "" : ", still \(counts)")"
  }
}
