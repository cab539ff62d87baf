import GRDB

/// The table `pauses`, and the value for a pause of everything.
extension Ledger {
  /// Reads everything outside a change that can hold it back.
  func sendScope(now: Int64, savesWaitForApp: Bool) throws -> SendScope {
    var scope = SendScope(now: now)
    scope.pauses = try pauses()
    for wait in try waits(after: now) { scope.waits[wait.scope] = wait }
    scope.zoneOperations = try zoneOperations()
    for operation in scope.zoneOperations where operation.kind == .zoneDelete {
      scope.zoneDeletes[operation.zone] = operation.id
    }
    let zones = try rows(
      """
      SELECT zone, owner, state, heldSince IS NOT NULL, 0 FROM zones WHERE state <> 'ready' OR heldSince IS NOT NULL
        UNION ALL SELECT '', '', '', 0, 1 WHERE EXISTS (SELECT 1 FROM chores)
      """
    )
    if zones.last?[4] == true { scope.emptiedZones = Set(try chores().compactMap(\.chore.emptiedZone)) }
    for row in zones {
      let (zone, state): (ZoneKey, ZoneState?) = (ZoneKey(zone: row[0], owner: row[1]), ZoneState(rawValue: row[2]))
      if row[3] { scope.heldZones[zone] = state == .deleted }
      if state == .unconfirmed { scope.missingZones.insert(zone) }
      if state == .deleted, !(row[3] as Bool), zone.canBeCreated { scope.goneZones.insert(zone) }
    }
    scope.savesWaitForApp = savesWaitForApp
    return scope
  }

  func isPaused() throws -> Bool { try value(.pausedAt) != nil }

  /// The rules in effect: first the one for everything, then by zone and type.
  func pauses() throws -> [Pause] {
    try rows(
      """
      SELECT zone, owner, type, at, actor, 1 AS place FROM pauses
        UNION ALL SELECT '', '', '', pausedAt, pausedBy, 0 FROM state WHERE pausedAt IS NOT NULL
        ORDER BY place, owner, zone, type
      """
    ).map { row in
      let (type, zone): (String, ZoneKey) = (row[2], ZoneKey(zone: row[0], owner: row[1]))
      let rule: PauseRule = row[5] == 0 ? .everything : type.isEmpty ? .zone(zone) : .type(type)
      return Pause(rule: rule, at: row[3], actor: row[4])
    }
  }

  /// Sets a rule. Returns whether it is new.
  func pause(_ rule: PauseRule, at time: Int64, actor: String) throws -> Bool {
    switch rule {
    case .everything:
      guard try !isPaused() else { return false }
      try setValue(.pausedAt, time)
      try setValue(.pausedBy, actor)
      return true
    case .zone(let zone): return try insertPause(zone, type: "", at: time, actor: actor)
    case .type(let type): return try insertPause(ZoneKey(zone: "", owner: ""), type: type, at: time, actor: actor)
    }
  }

  private func insertPause(_ zone: ZoneKey, type: String, at time: Int64, actor: String) throws -> Bool {
    try run(
      "INSERT INTO pauses(zone, owner, type, at, actor) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
      [zone.zone, zone.owner, type, time, actor]
    )
    return database.changesCount > 0
  }

  /// Lifts a rule. Returns whether it was in effect.
  func resume(_ rule: PauseRule) throws -> Bool {
    switch rule {
    case .everything:
      guard try isPaused() else { return false }
      try setValue(.pausedAt, nil)
      return true
    case .zone(let zone):
      try run("DELETE FROM pauses WHERE zone = ? AND owner = ? AND zone <> ''", [zone.zone, zone.owner])
    case .type(let type): try run("DELETE FROM pauses WHERE type = ? AND type <> ''", [type])
    }
    return database.changesCount > 0
  }
}
