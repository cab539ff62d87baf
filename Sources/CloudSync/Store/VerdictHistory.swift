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
struct StoredVerdict: Hashable, Sendable {
  var name: String
  var urgency: Verdict.Urgency
  var at: Int64
  /// The last time at which the process is known to have been alive with this verdict.
  var until: Int64
  /// The fencing token of the process.
  var fencingToken: Int64
}

/// Decides what the history of verdicts has.
enum VerdictHistory {
  /// How long verdicts are kept: 14 days in milliseconds.
  static let age: Int64 = 14 * 86_400_000
  /// The longest gap between two processes that is not kept where both have the same verdict: a minute in milliseconds.
  static let shortGap: Int64 = 60_000
  /// The maximum number of verdicts kept.
  static let kept = 20_000

  /// Returns the row to add for a verdict; nil if the last row has it already.
  static func row(_ verdict: Verdict, after last: StoredVerdict?, of holder: LeaseHolder, now: Int64) -> StoredVerdict?
  {
    let goesOn = last?.fencingToken == holder.fencingToken
    let isShort = last.map { (holder.since ?? now) - $0.until <= shortGap } ?? false
    if goesOn || isShort, last?.name == verdict.name, last?.urgency == verdict.urgency { return nil }
    // The first verdict of a process holds since the process took the lease.
    let at = goesOn ? now : min(now, holder.since ?? now)
    return StoredVerdict(
      name: verdict.name,
      urgency: verdict.urgency,
      at: at,
      until: now,
      fencingToken: holder.fencingToken
    )
  }

  /// The last time at which the holder of the lease is known to have been alive.
  static func lastSign(of holder: LeaseHolder, _ rest: EngineRest?, now: Int64) -> Int64? {
    // While busy it sets the end of its lease; an idle one has stored since when it is idle.
    (holder.expiresAt.map { $0 - Lease.duration } ?? rest?.at).map { min($0, now) }
  }

  /// The spans of a time, oldest first. Nothing is known before the first row.
  ///
  /// - Parameters:
  ///   - lastSign: the last sign of life of the process that wrote the last row; `to` while it syncs.
  static func spans(_ rows: [StoredVerdict], from: Int64, to: Int64, lastSign: Int64?) -> [VerdictSpan] {
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
      // A gap since the row before.
      if let end, end < row.at { add(nil, until: row.at) }
      let next = index + 1 < rows.count ? rows[index + 1] : nil
      let isSameProcess = next?.fencingToken == row.fencingToken
      add(row, until: max(row.until, (next == nil ? lastSign : isSameProcess ? next?.at : nil) ?? row.until))
    }
    if let end, end < to { add(nil, until: to) }
    return spans
  }
}

extension Ledger {
  /// Notes the verdict of the process that holds the lease, in a transaction of that process.
  func noteVerdict(now: Int64) throws {
    guard let holder = try lease() else { return }
    let view = StoreView(ledger: self, now: now, hasEngine: true, storageTrouble: { nil }, redaction: Redaction())
    let last = try lastVerdict()
    guard let new = VerdictHistory.row(try view.verdict(holder), after: last, of: holder, now: now) else {
      if let last, last.fencingToken != holder.fencingToken {
        try passVerdict(from: last.fencingToken, to: holder.fencingToken)
      }
      return
    }
    if last?.fencingToken == new.fencingToken { try extendVerdict(of: new.fencingToken, until: now) }
    try run(
      "INSERT INTO verdicts(at, until, name, urgency, fencingToken) VALUES (?, ?, ?, ?, ?)",
      [new.at, new.until, new.name, new.urgency.rawValue, new.fencingToken]
    )
  }

  /// Notes the last sign of life of the process that held the lease, before another one takes it.
  func endVerdict(now: Int64) throws {
    guard let holder = try lease(), let sign = try lastSign(of: holder, now: now) else { return }
    try extendVerdict(of: holder.fencingToken, until: sign)
  }

  private func extendVerdict(of fencingToken: Int64, until time: Int64) throws {
    try run(
      "UPDATE verdicts SET until = max(until, ?) WHERE id = (SELECT max(id) FROM verdicts) AND fencingToken = ?",
      [time, fencingToken]
    )
  }

  private func passVerdict(from former: Int64, to fencingToken: Int64) throws {
    try run(
      "UPDATE verdicts SET fencingToken = ? WHERE id = (SELECT max(id) FROM verdicts) AND fencingToken = ?",
      [fencingToken, former]
    )
  }

  func lastSign(of holder: LeaseHolder, now: Int64) throws -> Int64? {
    VerdictHistory.lastSign(of: holder, try rest(), now: now)
  }

  private func lastVerdict() throws -> StoredVerdict? {
    try row("SELECT * FROM verdicts ORDER BY id DESC LIMIT 1", []).flatMap(StoredVerdict.init)
  }

  /// The verdicts that held after a time, oldest first, and the one before them.
  func verdicts(after time: Int64) throws -> [StoredVerdict] {
    let first = "SELECT coalesce(max(id), 0) FROM verdicts WHERE at <= ?"
    return try rows("SELECT * FROM verdicts WHERE id >= (\(first)) ORDER BY id", [time])
      .compactMap(StoredVerdict.init)
  }

  func removeVerdicts(before time: Int64, keeping count: Int, limit: Int) throws -> Int {
    // The last of the old ones may have held until after that time.
    let old = try expired(in: "verdicts", before: time, keeping: count, limit: limit + 1).dropLast()
    return try remove(Array(old), from: "verdicts")
  }
}

extension StoredVerdict {
  fileprivate init?(_ row: Row) {
    guard let urgency = Verdict.Urgency(rawValue: row["urgency"]) else { return nil }
    self.init(
      name: row["name"],
      urgency: urgency,
      at: row["at"],
      until: row["until"],
      fencingToken: row["fencingToken"]
    )
  }
}

extension StoreView {
  /// The verdicts that held between two times, oldest first, and the times in which no process was syncing.
  ///
  /// Nothing is known of the time before the first process noted one. They are kept for 14 days.
  package func verdictHistory(from: Int64, to: Int64) throws -> [VerdictSpan] {
    let (rows, end) = (try ledger.verdicts(after: from), min(to, now))
    guard let holder = try ledger.lease() else { return [] }
    // A row of an earlier process has its end. What the syncing process has not noted yet is not known.
    guard rows.last?.fencingToken == holder.fencingToken else {
      let known = hasEngine ? min(end, holder.since ?? end) : end
      return VerdictHistory.spans(rows, from: from, to: known, lastSign: nil)
    }
    let sign = hasEngine ? end : try ledger.lastSign(of: holder, now: now)
    return VerdictHistory.spans(rows, from: from, to: end, lastSign: sign)
  }
}
