import CloudKit
import Facts

/// Recording commands, and carrying out those that change many rows.
extension SyncStore {
  /// Carries out a command in one transaction for each slice, and records it once.
  ///
  /// The audit row is written with the first slice that changes something and counts with each, so that a crash leaves
  /// on record what was done. The event follows when the command ends, also by a stop or an error. A command that
  /// changed nothing leaves neither.
  func carryOut(
    _ command: AuditedCommand?,
    on slices: [[Int64]],
    continues: (_ done: Int, _ total: Int) -> Bool = { _, _ in true },
    _ body: (_ ids: [Int64], Ledger, _ now: Int64) throws -> CommandResult
  ) throws(StoreError) -> CommandResult {
    var result = CommandResult()
    result.notReached = slices.reduce(0) { $0 + $1.count }
    let total = result.notReached
    var row: Int64?
    do throws(StoreError) {
      for slice in slices {
        let now = now()
        let (part, known) = try write { ledger in
          let part = try body(slice, ledger, now)
          guard var command else { return (part, row) }
          command.note(result.changed, part.changed)
          guard !command.isEmpty else { return (part, row) }
          let known = try ledger.put(command, at: row)
          if slice.count == result.notReached { try Self.log(command, now: now, ledger) }
          return (part, known)
        }
        row = known
        result.add(part)
        result.notReached -= slice.count
        guard result.notReached > 0 else { break }
        guard continues(total - result.notReached, total) else { break }
        storage.letOthersWrite()
      }
    } catch {
      guard row != nil else { throw error }
      try? logEnd(of: command, result)
      var failure = error
      failure.message += "; \(result.changed.count) of \(Words.count(total, "operation")) had been changed by then"
      throw failure
    }
    if result.notReached > 0 { try logEnd(of: command, result) }
    return result
  }

  /// Logs a command that ended before its last slice.
  private func logEnd(of command: AuditedCommand?, _ result: CommandResult) throws(StoreError) {
    guard var command else { return }
    command.note(result.changed)
    guard !command.isEmpty else { return }
    let now = now()
    try write { try Self.log(command, now: now, $0) }
  }

  private static func log(
    _ command: AuditedCommand,
    about operation: Int64? = nil,
    zone: String? = nil,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    ledger.hasDecision = true
    try EventLog.add(
      command.event,
      operation: operation ?? command.only,
      zone: zone,
      actor: command.actor,
      now: now,
      ledger
    )
  }

  /// Cuts rows into slices; there is at least one. An atomic group stays in one, so that no part of it is sent while
  /// the rest is still to be discarded.
  static func slices(of ids: [Int64], groups: [Int64: String] = [:]) -> [[Int64]] {
    let members = Dictionary(grouping: ids.filter { groups[$0] != nil }) { groups[$0] }
    var slices: [[Int64]] = [[]]
    var taken: Set<String> = []
    for id in ids {
      let group = groups[id]
      if let group, !taken.insert(group).inserted { continue }
      let rows = group.flatMap { members[$0] } ?? [id]
      if let last = slices.last, !last.isEmpty, last.count + rows.count > slice { slices.append([]) }
      slices[slices.count - 1] += rows
    }
    return slices
  }

  /// Records a command that was carried out in this transaction.
  func audit(
    _ command: Event.Command,
    _ count: Int,
    _ actor: String,
    operation: Int64? = nil,
    zone: String? = nil,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let command = AuditedCommand(at: now, actor: actor, command: command, count: count)
    _ = try ledger.put(command)
    try Self.log(command, about: operation, zone: zone, now: now, ledger)
  }
}
