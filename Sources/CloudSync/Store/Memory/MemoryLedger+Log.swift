/// Attempts, history, events, commands and what was dropped.
extension MemoryLedger {
  func add(_ attempt: Attempt, of operation: Int64) throws {
    attempts[operation] = (attempts[operation] ?? []) + [attempt]
  }

  func attempts(of operation: Int64) throws -> [Attempt] { attempts[operation]?.reversed() ?? [] }

  func removeAttempts(of operation: Int64, through number: Int) throws {
    attempts[operation] = attempts[operation]?.filter { $0.number > number }
  }

  func lastAttemptNumber(of operation: Int64) throws -> Int { attempts[operation]?.last?.number ?? 0 }

  func add(_ entry: HistoryEntry) throws {
    singles.counters.history += 1
    history[singles.counters.history] = entry
    historyOfOperation[entry.id] = singles.counters.history
  }

  func history(of operation: Int64) throws -> HistoryEntry? { historyOfOperation[operation].flatMap { history[$0] } }

  func history(limit: Int) throws -> [HistoryEntry] { history.newest(limit) }

  func removeHistory(endedBefore time: Int64, keeping count: Int, limit: Int) throws -> Int {
    let last = singles.counters.history - Int64(count)
    var removed = 0
    while removed < limit {
      let id = singles.counters.historyRemoved + 1
      guard let entry = history[id], entry.endedAt < time || id <= last else { break }
      history[id] = nil
      historyOfOperation[entry.id] = nil
      attempts[entry.id] = nil
      singles.counters.historyRemoved = id
      removed += 1
    }
    return removed
  }

  func removeCommands(before time: Int64, keeping count: Int, limit: Int) throws -> Int {
    let last = singles.counters.command - Int64(count)
    var removed = 0
    while removed < limit {
      let id = singles.counters.commandsRemoved + 1
      guard let command = commands[id], command.at < time || id <= last else { break }
      commands[id] = nil
      singles.counters.commandsRemoved = id
      removed += 1
    }
    return removed
  }

  func addEvent(_ kind: String, _ message: String, at time: Int64) throws -> Int64 {
    singles.counters.event += 1
    let id = singles.counters.event
    events[id] = EventRow(id: id, at: time, kind: kind, message: message)
    return id
  }

  func removeEvents(through id: Int64) throws {
    // There is one to remove for each that is added, so the one below is found at once.
    var id = id
    while events[id] != nil {
      events[id] = nil
      id -= 1
    }
  }

  func events(limit: Int) throws -> [EventRow] { events.newest(limit) }

  func add(_ command: AuditedCommand) throws {
    singles.counters.command += 1
    commands[singles.counters.command] = command
  }

  func commands(limit: Int) throws -> [AuditedCommand] { commands.newest(limit) }

  // MARK: - What was dropped

  func add(_ dropped: DroppedChange) throws {
    singles.counters.dropped += 1
    droppedRows[singles.counters.dropped] = dropped
  }

  func wasDeleted(_ key: RecordKey, since time: Int64) throws -> Bool {
    history.rows.values.contains { entry in
      entry.key == key && entry.kind == .delete && entry.ending == .acknowledged && entry.endedAt >= time
    }
  }

  func wasDeleted(_ zone: ZoneKey, since time: Int64) throws -> Bool {
    history.rows.values.contains { entry in
      entry.key.zoneKey == zone && entry.kind == .zoneDelete && entry.ending == .acknowledged && entry.endedAt >= time
    }
  }

  func dropped(of operation: Int64) throws -> [DroppedChange] {
    droppedRows.newest(.max).reversed().filter { $0.operation == operation }
  }

  func openDropped(limit: Int) throws -> [DroppedChange] {
    Array(droppedRows.newest(.max).lazy.filter(\.isOpen).prefix(limit))
  }

  func closeDropped(of key: RecordKey) throws {
    for (id, dropped) in droppedRows.rows where dropped.isOpen && dropped.key == key {
      droppedRows[id]?.isOpen = false
    }
  }

  func removeDropped(before time: Int64) throws {
    for (id, dropped) in droppedRows.rows where dropped.at < time { droppedRows[id] = nil }
  }
}

extension MemoryTable where Key == Int64 {
  /// The rows of the highest numbers, these first.
  fileprivate func newest(_ limit: Int) -> [Row] {
    rows.keys.sorted(by: >).prefix(limit).compactMap { rows[$0] }
  }
}
