import CloudKit
import Facts

/// Explains why an operation is not sent when the reason is not in its own row, such as a pause rule or a throttled
/// scope. The rows are not rewritten for this; the reason is computed when they are read, in one transaction.
struct HoldUp {
  private let ledger: Ledger
  private let now: Int64
  private let pauses: [Pause]
  private let hasEngine: Bool
  /// The queued zone deletes.
  private let deletions: [ZoneKey: Int64]
  /// Zones with deletions on hold, and whether the deletion of the whole zone is on hold.
  private let held: [ZoneKey: Bool]
  /// Zones that a retry creates again.
  private let gone: Set<ZoneKey>
  private let waits: [WaitScope: ScopeWait]
  /// Whether saves wait for the app.
  private let savesWaitForApp: Bool
  /// Whether conflicts that the app has not been asked about wait for it.
  private let conflictsWaitForApp: Bool
  /// The members of each atomic group that block the others, once a row of the group was explained.
  private var holders: [String: [Int64]] = [:]
  /// The records of operations that others wait for, once a row that waits for them was explained.
  private var titles: [Int64: String] = [:]

  init(hasEngine: Bool, now: Int64, _ ledger: Ledger) throws {
    (self.ledger, self.now, self.hasEngine) = (ledger, now, hasEngine)
    pauses = try ledger.pauses()
    deletions = try ledger.zoneDeletions()
    let zones = try ledger.zones()
    held = zones.filter { $0.heldSince != nil }.reduce(into: [:]) { $0[$1.key] = $1.state == .deleted }
    gone = Set(zones.filter(\.isGone).map(\.key))
    waits = Dictionary(uniqueKeysWithValues: try ledger.waits(after: now).map { ($0.scope, $0) })
    let settings = try ledger.settings()
    let isForApp = try !ledger.isAppSyncing(hasEngine: hasEngine)
    savesWaitForApp = isForApp && settings.asksBeforeSending == true
    conflictsWaitForApp = isForApp && settings.asksAboutConflicts == true
  }

  /// Returns the row with the actual reason for its wait as its cause, and the end of that wait: the latest of the waits
  /// that hold it, or nil if something without an end does.
  mutating func explained(_ row: QueueRow) throws -> QueueRow {
    var row = row
    row.recreatesZone = QueueVerb.retry.states.contains(row.state) && gone.contains(row.key.zoneKey)
    if row.state == .inFlight, !hasEngine { row.cause = .senderEnded }
    if row.state == .conflict, conflictsWaitForApp, let conflict = try ledger.operation(row.id),
      try SyncStore.isForApp(conflict, ledger.record(conflict.key))
    {
      row.cause = .noted(row.cause, .waitsForApp)
    }
    guard row.state == .pending || row.state == .waiting else { return row }
    if let hold = try hold(on: row) {
      (row.cause, row.nextAttemptAt) = (hold, nil)
      if case .waitsFor(let ids, let isGroup, _, _) = hold {
        row.blockedBy = ids
        row.cause = .waitsFor(ids, isGroup: isGroup, names: try ids.prefix(Self.mostNames).map { try title(of: $0) })
      }
    } else if let wait = wait(of: row), wait.until > row.nextAttemptAt ?? .min {
      (row.cause, row.nextAttemptAt) = (.waits(wait.scope.asCause, code: wait.code, until: wait.until), wait.until)
    }
    return row
  }

  /// Why a pending or waiting row cannot be sent whatever the time; nil if nothing but waits hold it.
  private mutating func hold(on row: QueueRow) throws -> Cause? {
    let (zone, isOfRecord) = (row.key.zoneKey, !row.key.name.isEmpty)
    if let pause = pauses.first(holding: zone, type: row.type) {
      return .pausedByRule(pause.rule.asCause, by: pause.actor)
    }
    // The check of a change whose reply was lost waits for no other change.
    let isChecked = row.state == .waiting && row.cause.isUnconfirmed
    if !isChecked, !row.blockedBy.isEmpty { return .waitsFor(row.blockedBy, isGroup: false) }
    if isOfRecord, let deletion = deletions[zone] { return .waitsForZoneDelete(deletion) }
    if isOfRecord, held[zone] == true { return .deletionsOnHold(zone: zone.zone, isWholeZone: true) }
    if isOfRecord, try ledger.isGone(row.key) {
      return held[zone] == nil ? .recordDeletedWhileFetching : .deletionsOnHold(zone: zone.zone, isWholeZone: false)
    }
    if isChecked { return nil }
    if let group = row.group {
      let holders = try holders(of: group)
      if !holders.isEmpty { return .waitsFor(holders, isGroup: true) }
    }
    return savesWaitForApp && row.kind == .save ? .waitsForApp : nil
  }

  /// A row names so many of the operations that it waits for.
  private static let mostNames = 3

  private mutating func title(of id: Int64) throws -> String {
    if let known = titles[id] { return known }
    let title = try ledger.title(of: id)?.shortened(to: 60) ?? "a change"
    titles[id] = title
    return title
  }

  private mutating func holders(of group: String) throws -> [Int64] {
    if let known = holders[group] { return known }
    let members = try ledger.operations(inGroup: group)
    let ids = Set(members.map(\.id))
    let found = try members.filter { member in
      switch member.state {
      case .failed, .paused, .conflict: true
      case .waiting where member.nextAttemptAt ?? 0 > now: true
      case .inFlight: false
      case .pending, .waiting:
        try pauses.first(holding: member.key.zoneKey, type: member.type) != nil
          || !ids.isSuperset(of: ledger.blockers(of: member.id))
      }
    }.map(\.id)
    holders[group] = found
    return found
  }

  /// The longest wait of the scopes that hold the row.
  private func wait(of row: QueueRow) -> ScopeWait? {
    waits.values.filter { wait in
      switch wait.scope {
      case .zone(let zone): zone == row.key.zoneKey
      case .quota: row.kind == .save
      default: wait.scope.stopsAll
      }
    }.max { $0.until < $1.until }
  }
}
