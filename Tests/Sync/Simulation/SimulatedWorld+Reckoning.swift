import CloudKit
import CloudKitEmulator
import Facts
import Foundation

@testable import CloudSync

/// What has to hold at every step, and what in the end.
extension SimulatedWorld {
  /// Whatever happened, every row explains itself and every operation that is gone has one ending.
  func check(_ device: SimulatedDevice) throws {
    for conflict in asked { try check(conflict.key, conflict.fields, conflict.device) }
    asked = []
    let rows = try device.store.operations().rows
    if let mute = rows.first(where: \.cause.text.isEmpty) {
      throw violation("\(device.name): \(mute.id) has no reason")
    }
    let ended: [Int64] = try device.store.read { try $0.all("SELECT operationId FROM history") }
    let known = Set(rows.map(\.id)).union(ended)
    if known.count != rows.count + ended.count || known.count != Int(known.max() ?? 0) {
      throw violation("\(device.name): of \(known.max() ?? 0) accepted \(rows.count) live and \(ended.count) ended")
    }
    for row in rows where row.state != .pending { census.count("row \(row.state.rawValue)") }
    for row in rows where !row.blockedBy.isEmpty { census.count("row blocked") }
    for row in rows { if let code = row.errorCode { census.count("error \(code)") } }
  }

  func database(of user: String) -> EmulatorDatabase {
    scope.database == .public ? .public(Self.container) : .private(of: user, Self.container)
  }

  func records(of user: String) -> [RecordKey: EmulatorRecord] {
    var records: [RecordKey: EmulatorRecord] = [:]
    for zone in zones {
      for record in emulator.records(in: database(of: user), zone: zone.zone) {
        records[RecordKey(zone, record.recordName)] = record
      }
    }
    return records
  }

  func compare(_ device: SimulatedDevice) throws {
    // Of types that it was never told to read nothing is claimed.
    let known = scope.database == .public ? try device.store.knownTypes(in: .defaultZone) : Self.types
    let server = records(of: Self.user).filter { known.contains($0.value.recordType) }.map { key, record in
      let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }
      return "\(key.zone)/\(key.name) [\(record.changeTag)] \(fields.joined(separator: " "))"
    }.sorted()
    let mirror = try device.mirror()
    if mirror != server {
      throw violation(
        "\(device.name) says it is in sync and is not\nmirror:\n\(mirror.joined(separator: "\n"))\nserver:\n"
          + server.joined(separator: "\n")
      )
    }
  }

  // MARK: - Peace

  /// No more faults: first everything that can go goes by itself and in time, then an operator clears the rest away.
  func heal() async throws {
    note("peace")
    emulator.faults = FaultPlan()
    try await deliverAllLate()
    for device in devices {
      device.meet(nil)
      try device.signIn(as: Self.user)
    }
    try await goOn()
    try await clear()
    try reckon()
  }

  /// By themselves, within the longest wait and two back-offs.
  private func goOn() async throws {
    let longest = try devices.map { try nextDue($0, max) ?? 0 }.max() ?? 0
    let end = clock.now + longest + 2 * 330_000
    note("the longest wait is \(longest) ms")
    var waiting = devices
    while true {
      var isIdle = true
      for device in waiting where try await pass(device, mayDie: false) { isIdle = false }
      var open: [String] = []
      waiting = try devices.filter { device in
        let rows = try restless(device)
        open += rows.map { "\(device.name): \($0.id) \($0.key.name) \($0.state.rawValue) \($0.cause.text)" }
        return try !rows.isEmpty || nextDue(device, min) != nil
      }
      // Where nothing is left to be sent, what keeps a device from reading may still have to end.
      let next = try devices.compactMap { try nextDue($0, min) }.min()
      if open.isEmpty, next == nil { return }
      guard clock.now < end else { throw violation("these do not go by themselves: \(open)") }
      clock.advance(Double(max(1, isIdle ? next ?? 30_000 : min(next ?? 30_000, 30_000))) / 1000)
    }
  }

  /// How long until the first, or last, of a device's waits ends; nil where it waits for nothing.
  private func nextDue(_ device: SimulatedDevice, _ choose: (Int64, Int64) -> Int64) throws -> Int64? {
    let waits = try device.store.status().throttles.map(\.until)
    let backOffs = try device.store.operations().rows.compactMap(\.nextAttemptAt)
    let ends = (waits + backOffs).filter { $0 > device.clock.now }
    return ends.reduce(nil) { result, end in result.map { choose($0, end) } ?? end }.map { $0 - device.clock.now }
  }

  /// Rows that nothing but time should stand before: they are not an operator's matter, nor wait for one that is.
  private func restless(_ device: SimulatedDevice) throws -> [QueueRow] {
    let rows = try device.store.operations().rows
    let lost = Set(try device.store.heldDeletions().filter(\.isWholeZone).map(\.zone))
    var stuck = Set(
      try rows.filter { row in
        try [.failed, .paused, .conflict].contains(row.state) || lost.contains(row.key.zoneKey)
          || device.store.read { try $0.isGone(row.key) }
      }.map(\.id)
    )
    let groups = try rows.reduce(into: [:]) { groups, row in
      groups[row.id] = try device.store.view { try $0.detail(of: row.id) }?.operation?.group
    }
    var before = -1
    while stuck.count != before {
      before = stuck.count
      let stuckGroups = Set(stuck.compactMap { groups[$0] })
      let stuckZones = Set(rows.filter { stuck.contains($0.id) && $0.key.name.isEmpty }.map(\.key.zoneKey))
      for row in rows
      where row.blockedBy.contains(where: stuck.contains) || groups[row.id].map(stuckGroups.contains) == true
        || stuckZones.contains(row.key.zoneKey)
      {
        stuck.insert(row.id)
      }
    }
    return rows.filter { !stuck.contains($0.id) }
  }

  /// Somebody retries every dead letter and settles every conflict, and in the end throws away what the server refuses.
  private func clear() async throws {
    for round in 1...12 {
      clock.advance(20_000)
      var isIdle = true
      for device in devices {
        let paused = try QueueFilter(parsing: "state = 'paused'")
        _ = try device.store.perform(.resume, on: .matching(paused, text: "paused"), actor: "operator")
        _ = try device.store.perform(.retry, on: .all, actor: "operator")
        try resolve(device)
        try decide(device)
        if try await pass(device, mayDie: false) { isIdle = false }
        try check(device)
        guard round > 5 else { continue }
        for row in try device.store.operations().rows where row.state == .failed || row.state == .waiting {
          census.count("thrown away in the end")
          isIdle = false
          try perform(.discard, row, device)
        }
      }
      let left = try devices.reduce(0) { left, device in
        let status = try device.store.status()
        if !status.heldDeletions.isEmpty { census.count("deletions held back") }
        return left + status.queue.total + status.heldDeletions.count
      }
      note("round \(round): \(left) left")
      // In a round of nothing everybody has read what the last one wrote.
      if left == 0, isIdle { return }
    }
    throw violation("the queues do not run empty")
  }

  private func reckon() throws {
    for device in devices {
      guard try device.store.status().isInSync else {
        throw violation("\(device.name) is not in sync: \(try device.store.status().verdict(hasCredential: true))")
      }
      try compare(device)
      if let difference = try device.differenceInApp() { throw violation("\(device.name): the app has \(difference)") }
    }
    let mirrors = try devices.map { try $0.mirror(parents: true) }
    if mirrors.contains(where: { $0 != mirrors[0] }) { throw violation("the devices' mirrors differ: \(mirrors)") }
    let server = records(of: Self.user).mapValues { $0.fields.mapValues(\.text) }
    if let fault = intents.fault(on: server) {
      let endings = try devices.map { device in
        let ended = try device.store.read { ledger in
          let ids: [Int64] = try ledger.all("SELECT operationId FROM history ORDER BY id")
          return try ids.compactMap(ledger.history(of:)).filter { $0.key == fault.key }
        }
        return "\(device.name): \(ended.map { "\($0.id) \($0.kind.rawValue) \($0.ending.rawValue), \($0.cause.text)" })"
      }
      throw violation("\(fault.text)\n\(endings.joined(separator: "\n"))")
    }
    if scope.database == .private, let stray = records(of: "ben").keys.min() {
      throw violation("\(stray.name) is another's now")
    }
  }
}
