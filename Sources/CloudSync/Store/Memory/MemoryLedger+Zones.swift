/// Zones, pulls and waits.
extension MemoryLedger {
  func zone(_ key: ZoneKey) throws -> KnownZone? { zoneRows[key] }

  func zones() throws -> [KnownZone] {
    zoneRows.rows.values.sorted { ($0.key.owner, $0.key.zone) < ($1.key.owner, $1.key.zone) }
  }

  func put(_ zone: KnownZone) throws { zoneRows[zone.key] = zone }

  func removeZone(_ key: ZoneKey) throws { zoneRows[key] = nil }

  // MARK: - Pulls

  func pulls() throws -> [Pull] {
    pullRows.rows.values.sorted { left, right in
      (left.zone.owner, left.zone.zone, left.type) < (right.zone.owner, right.zone.zone, right.type)
    }
  }

  func put(_ pull: Pull) throws { pullRows[Feed(zone: pull.zone, type: pull.type)] = pull }

  // MARK: - Waits

  func wait(_ scope: WaitScope) throws -> ScopeWait? { waitRows[scope.name] }

  func waits(after time: Int64) throws -> [ScopeWait] {
    if waitRows.rows.isEmpty { return [] }
    return waitRows.rows.values.filter { $0.until > time }.sorted { $0.scope.name < $1.scope.name }
  }

  func put(_ wait: ScopeWait) throws { waitRows[wait.scope.name] = wait }

  func removeWait(_ scope: WaitScope) throws {
    if !waitRows.rows.isEmpty { waitRows[scope.name] = nil }
  }
}
