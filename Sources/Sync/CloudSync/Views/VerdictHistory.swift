package import Facts
import GRDB

/// A time in which one verdict held, or in which no process was syncing.
package struct VerdictSpan: Hashable, Sendable {
  /// The verdict; nil while no process was syncing.
  package var state: VerdictState?
  /// How much it mattered; nil while no process was syncing.
  package var urgency: Verdict.Urgency?
  /// The beginning and the end, in milliseconds since 1970.
  package var from: Int64
  package var until: Int64

  package init(_ state: VerdictState?, _ urgency: Verdict.Urgency?, from: Int64, until: Int64) {
    (self.state, self.urgency, self.from, self.until) = (state, urgency, from, until)
  }
}

/// A row of the table `verdicts`: a verdict as one syncing process met it.
struct StoredVerdict: Hashable, StoredRow {
  static let databaseTableName = "verdicts"

  var name: String
  var urgency: Verdict.Urgency
  var at: Int64
  /// The last time at which the process is proven to have been alive with this verdict.
  var until: Int64
  /// The fencing token of the process.
  var fencingToken: Int64
}

/// Decides what the history of verdicts has.
enum VerdictHistory {
  /// How long verdicts are kept: 14 days in milliseconds.
  static let age = 14 * SystemClock.day
  /// The maximum number of verdicts kept.
  static let kept = 20_000

  /// The change of the history by a verdict.
  struct Note: Hashable, Sendable {
    /// Whether the last row is proven until now.
    var extendsLast: Bool
    /// The row to add; nil if the last one has the verdict already.
    var row: StoredVerdict?
  }

  /// Decides what is noted when the holder of the lease meets a verdict.
  ///
  /// Nothing reaches over a time without a proof: what held in it is not known, whatever holds again.
  ///
  /// - Parameter aliveSince: since when the holder is proven to live without a break.
  static func note(
    _ verdict: Verdict,
    after last: StoredVerdict?,
    of holder: LeaseHolder,
    aliveSince: Int64,
    now: Int64
  ) -> Note {
    let goesOn = last.map { $0.fencingToken == holder.fencingToken && $0.until >= aliveSince } ?? false
    if goesOn, last?.name == verdict.name, last?.urgency == verdict.urgency { return Note(extendsLast: true) }
    let row = StoredVerdict(
      name: verdict.name,
      urgency: verdict.urgency,
      // The first verdict of a time without a break holds since its beginning.
      at: goesOn ? now : min(now, aliveSince),
      until: now,
      fencingToken: holder.fencingToken
    )
    return Note(extendsLast: goesOn, row: row)
  }

  /// The spans of a time, oldest first. Nothing is known before the first row.
  ///
  /// - Parameter isProven: whether the last verdict still holds at the end.
  static func spans(_ rows: [StoredVerdict], from: Int64, to: Int64, isProven: Bool) -> [VerdictSpan] {
    var spans: [VerdictSpan] = []
    var end: Int64?
    func add(_ row: StoredVerdict?, until: Int64) {
      let start = max(end ?? row?.at ?? from, from)
      end = max(end ?? until, until)
      guard start < min(until, to) else { return }
      let state = row.flatMap { VerdictState(rawValue: $0.name) }
      spans.append(VerdictSpan(state, row?.urgency, from: start, until: min(until, to)))
    }
    for (index, row) in rows.enumerated() {
      // A time without a proof since the row before.
      if let end, end < row.at { add(nil, until: row.at) }
      add(row, until: isProven && index == rows.count - 1 ? max(row.until, to) : row.until)
    }
    if let end, end < to { add(nil, until: to) }
    return spans
  }
}

extension Ledger {
  /// Notes the verdict of the process that holds the lease.
  ///
  /// - Parameter aliveSince: since when that process is proven to live without a break.
  func noteVerdict(now: Int64, aliveSince: Int64) throws {
    guard let holder = try lease() else { return }
    let verdict = try view(now: now, clockOffset: nil).verdict(holder)
    let last = try lastVerdict()
    let note = VerdictHistory.note(verdict, after: last, of: holder, aliveSince: aliveSince, now: now)
    if note.extendsLast {
      try run("UPDATE verdicts SET until = max(until, ?) WHERE id = (SELECT max(id) FROM verdicts)", [now])
    }
    try note.row?.insert(database)
  }

  func lastVerdict() throws -> StoredVerdict? {
    try row("SELECT * FROM verdicts ORDER BY id DESC LIMIT 1", []).flatMap { try? StoredVerdict(row: $0) }
  }

  /// The verdicts that held after a time, oldest first, and the one before them. One that cannot be read is left out:
  /// no other row depends on it.
  func verdicts(after time: Int64) throws -> [StoredVerdict] {
    let first = "SELECT coalesce(max(id), 0) FROM verdicts WHERE at <= ?"
    return try rows("SELECT * FROM verdicts WHERE id >= (\(first)) ORDER BY id", [time])
      .compactMap { try? StoredVerdict(row: $0) }
  }

  func removeVerdicts(before time: Int64, keeping count: Int, limit: Int) throws -> Int {
    // The last of the old ones may have held until after that time.
    let old = try expired(in: "verdicts", before: time, keeping: count, limit: limit + 1).dropLast()
    return try remove(Array(old), from: "verdicts")
  }
}

extension StoreView {
  /// The verdicts that held between two times, oldest first, and the times in which no process was syncing.
  ///
  /// A verdict ends with the last proof that its process was alive. Nothing is known of the time before the first
  /// process noted one. They are kept for 14 days.
  package func verdictHistory(from: Int64, to: Int64) throws -> [VerdictSpan] {
    let (rows, end) = (try ledger.verdicts(after: from), min(to, now))
    guard let holder = try ledger.lease() else { return [] }
    // Nothing is known of the time since the syncing process took the lease, until it notes its first verdict.
    guard rows.last?.fencingToken == holder.fencingToken else {
      let known = hasEngine ? min(end, holder.since ?? end) : end
      return VerdictHistory.spans(rows, from: from, to: known, isProven: false)
    }
    return VerdictHistory.spans(rows, from: from, to: end, isProven: try isAtWork(holder))
  }

  /// Whether the process that has the lease has not ended, and does its work.
  func isAtWork(_ holder: LeaseHolder) throws -> Bool {
    try hasEngine && signs(of: holder).judgement(at: now).stalledSince == nil
  }
}

extension SyncStore {
  /// Notes at its own time what a person's decision did to the verdict, whenever the syncing process looks.
  func noteDecision(now: Int64, _ ledger: Ledger) throws {
    guard let holder = try ledger.lease(), let last = try ledger.lastVerdict(),
      last.fencingToken == holder.fencingToken, try view(now: now, ledger).isAtWork(holder)
    else { return }
    try ledger.noteVerdict(now: now, aliveSince: last.until)
  }
}
