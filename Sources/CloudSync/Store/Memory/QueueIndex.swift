/// What finds the operations of a store in memory.
struct QueueIndex {
  /// When a back-off ends, for whom.
  struct Due: Comparable {
    var time: Int64
    var id: Int64

    static func < (left: Due, right: Due) -> Bool { (left.time, left.id) < (right.time, right.id) }
  }

  private(set) var all = SortedElements<Int64>()
  private(set) var byKey: [RecordKey: Int64] = [:]
  private(set) var byState: [OperationState: SortedElements<Int64>] = [:]
  private(set) var byZone: [ZoneKey: SortedElements<Int64>] = [:]
  private(set) var byGroup: [String: SortedElements<Int64>] = [:]
  /// Operations on zones themselves.
  private(set) var ofZones = SortedElements<Int64>()
  /// Operations whose record has to be read back.
  private(set) var readBacks = SortedElements<Int64>()
  /// Operations whose assets have to be brought to the server.
  private(set) var uploads = SortedElements<Int64>()
  private(set) var dues = SortedElements<Due>()
  /// The operations that refer to a record.
  private(set) var byReference: [RecordKey: SortedElements<Int64>] = [:]
  /// The saves that let go of a record.
  private(set) var byRelease: [RecordKey: SortedElements<Int64>] = [:]

  /// Follows a row from what it was to what it is; nil is that it is not there.
  mutating func move(_ id: Int64, from old: MemoryLedger.Operation?, to new: MemoryLedger.Operation?) {
    let (before, after) = (old?.operation, new?.operation)
    if (before == nil) != (after == nil), let operation = before ?? after {
      let isThere = after != nil
      Self.put(id, isThere, in: &all)
      Self.put(id, isThere, in: &byZone[operation.key.zoneKey])
      if operation.key.name.isEmpty {
        Self.put(id, isThere, in: &ofZones)
      } else {
        byKey[operation.key] = isThere ? id : nil
      }
    }
    if before?.state != after?.state {
      if let state = before?.state { Self.put(id, false, in: &byState[state]) }
      if let state = after?.state { Self.put(id, true, in: &byState[state]) }
    }
    if before?.group != after?.group {
      if let group = before?.group { Self.put(id, false, in: &byGroup[group]) }
      if let group = after?.group { Self.put(id, true, in: &byGroup[group]) }
    }
    if before?.nextAttemptAt != after?.nextAttemptAt {
      if let time = before?.nextAttemptAt { dues.remove(Due(time: time, id: id)) }
      if let time = after?.nextAttemptAt { dues.insert(Due(time: time, id: id)) }
    }
    if before?.needsReadBack != after?.needsReadBack { Self.put(id, after?.needsReadBack ?? false, in: &readBacks) }
    if before?.needsUpload != after?.needsUpload { Self.put(id, after?.needsUpload ?? false, in: &uploads) }
    if old?.links != new?.links {
      for target in old?.links.targets ?? [] { Self.put(id, false, in: &byReference[target]) }
      for target in old?.links.released ?? [] { Self.put(id, false, in: &byRelease[target]) }
      for target in new?.links.targets ?? [] { Self.put(id, true, in: &byReference[target]) }
      for target in new?.links.released ?? [] { Self.put(id, true, in: &byRelease[target]) }
    }
  }

  private static func put(_ id: Int64, _ isThere: Bool, in elements: inout SortedElements<Int64>) {
    if isThere { elements.insert(id) } else { elements.remove(id) }
  }

  /// Keeps no empty set.
  private static func put(_ id: Int64, _ isThere: Bool, in elements: inout SortedElements<Int64>?) {
    var known = elements.take() ?? SortedElements()
    put(id, isThere, in: &known)
    if !known.isEmpty { elements = known }
  }
}
