/// The lease, what the driver does, and passes that it is asked for.
extension MemoryLedger {
  func lease() throws -> LeaseHolder? { singles.lease }

  func put(_ lease: LeaseHolder) throws { singles.lease = lease }

  func extendLease(fence: Int64, until end: Int64?) throws -> Bool {
    guard singles.lease?.fence == fence else { return false }
    singles.lease?.expiresAt = end
    return true
  }

  func activity() throws -> DriverActivity { singles.activity }

  func put(_ activity: DriverActivity) throws { singles.activity = activity }

  // MARK: - Passes

  func insertPass(requestedAt: Int64, types: [String]) throws -> Int64 {
    singles.counters.pass += 1
    passes[singles.counters.pass] = RequestedPass(id: singles.counters.pass, types: types)
    return singles.counters.pass
  }

  func pass(_ id: Int64) throws -> RequestedPass? { passes[id] }

  func openPasses() throws -> [RequestedPass] {
    if passes.rows.isEmpty { return [] }
    return passes.rows.values.filter { $0.finishedAt == nil }.sorted { $0.id < $1.id }
  }

  func replace(_ pass: RequestedPass) throws {
    guard var known = passes[pass.id] else { return }
    known.startedAt = pass.startedAt
    known.finishedAt = pass.finishedAt
    known.summary = pass.summary
    passes[pass.id] = known
  }

  func removePasses(finishedBefore time: Int64) throws {
    for pass in passes.rows.values {
      if let finishedAt = pass.finishedAt, finishedAt < time { passes[pass.id] = nil }
    }
  }
}
