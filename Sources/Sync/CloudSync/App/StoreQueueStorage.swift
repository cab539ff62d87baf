public import CloudKit
import Foundation

/// The queue of a store, for code that uses a `CloudKitQueueStorage`.
///
/// An enqueued operation is on disk on return, and the syncing process sends it; nothing has to be dequeued for that.
/// There is one operation for each record: a later one is merged into it. A removed operation ends as discarded,
/// whether it is sent by other means or not at all; one in flight stays. A dequeued operation can be enqueued again:
/// its record knows which of its fields are changes, and it names its zone.
@MainActor
public final class StoreQueueStorage: CloudKitQueueStorage {
  package let store: SyncStore
  private let zones: [ZoneKey]

  /// - Parameter zoneID: the zone of records that are named without one. Nil: the store's default zone for changes or
  ///   the default zone, whichever has a record of that name; for an unknown name the default zone.
  public init(_ store: SyncStore, zoneID: CKRecordZone.ID? = nil) {
    self.store = store
    zones = zoneID.map { [ZoneKey($0)] } ?? store.zonesForNames
  }

  /// Accepts a save with its record's data, a delete, or the creation or deletion of a zone. It is on disk on return.
  ///
  /// The zone of a delete is that of its data, else the named zone, else as the initializer says. The change becomes a
  /// dead letter after `maxRetries` attempts, and counts as made at the operation's `timestamp`.
  ///
  /// - Throws: `CKError` or `StoreError` if there is nothing to send, or it can never be sent.
  public func enqueue(_ operation: QueuedCloudKitOperation) throws {
    for case let error? in try store.enqueue([operation], in: zones) { throw error }
  }

  /// Removes the oldest pending operation from the store, even one in a back-off; it will not be sent.
  public func dequeue() throws -> QueuedCloudKitOperation? {
    // If it is in flight by now, it cannot be removed: take the next one.
    while let row = try oldest() {
      let first = try operation(row)
      // Not final: its files are needed if it is enqueued again.
      if try store.perform(.discard, on: .ids([row.id]), actor: "app").changed == [row.id] {
        return first
      }
    }
    return nil
  }

  /// The oldest pending operation, which may be in a back-off; nil if there is none.
  public func peek() throws -> QueuedCloudKitOperation? { try oldest().map(operation) }

  private func oldest() throws -> QueueRow? {
    try store.operations(matching: QueueFilter(parsing: Ledger.isOpen), limit: 1).rows.first
  }

  /// Removes an operation, by its identifier, or by its record if the identifier is not the store's.
  ///
  /// An operation of the store that has ended is not removed again, even if its record has a new one.
  public func remove(_ operation: QueuedCloudKitOperation) throws {
    if let id = Self.number(operation.id) {
      _ = try store.perform(.discard, on: .ids([id]), isFinal: true, actor: "app")
    } else if let name = operation.recordID {
      let key = try store.key(name, of: operation, in: zones)
      guard let known = try store.read({ try $0.operation(for: key)?.id }) else { return }
      _ = try store.perform(.discard, on: .ids([known]), isFinal: true, actor: "app")
    }
  }

  /// The number of operations that can be dequeued: those with the status `pending`, which may be in a back-off.
  public func count() throws -> Int {
    try store.read { ledger in try OperationState.open.reduce(0) { try $0 + ledger.operationCount(in: $1) } }
  }

  /// Removes all operations, except those in flight.
  public func clear() throws { _ = try store.perform(.discard, on: .all, isFinal: true, actor: "app") }

  /// All operations in any state, oldest first.
  public func getAllOperations() throws -> [QueuedCloudKitOperation] { try store.operations().rows.map(operation) }

  private func operation(_ row: QueueRow) throws -> QueuedCloudKitOperation {
    let record = row.kind == .save ? try store.draft(row.id) : nil
    return QueuedCloudKitOperation(
      id: Self.identifier(row.id),
      operationType: row.kind.rawValue,
      recordData: try record.map { try NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true) },
      recordID: row.key.name.isEmpty ? nil : row.key.name,
      recordType: row.type,
      timestamp: Date(milliseconds: row.enqueuedAt),
      retryCount: row.attempts,
      maxRetries: row.maxAttempts,
      nextRetryAt: row.nextAttemptAt.map(Date.init(milliseconds:)),
      status: Self.status(row.state),
      errorMessage: row.errorMessage,
      zoneName: row.key.zone,
      zoneOwner: row.key.owner.isEmpty ? nil : row.key.owner
    )
  }

  private static func status(_ state: OperationState) -> String {
    switch state {
    case .pending, .waiting: "pending"
    case .inFlight: "processing"
    case .failed, .paused, .conflict: state.rawValue
    }
  }

  /// A stable identifier for the operation.
  private static func identifier(_ id: Int64) -> UUID {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
    return UUID(
      uuid: (
        0x63, 0x6B, 0x74, 0x6F, 0x70, 0, 0x80, 0, bytes[0] | 0x80, bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
        bytes[6], bytes[7]
      )
    )
  }

  /// The number of one of the store's operations by its identifier; nil if the identifier is not the store's.
  private static func number(_ identifier: UUID) -> Int64? {
    let bytes = withUnsafeBytes(of: identifier.uuid) { Array($0) }
    let id = bytes[8...].reduce(Int64(0)) { $0 << 8 | Int64($1) } & .max
    return Self.identifier(id) == identifier ? id : nil
  }
}

extension SyncStore {
  /// Accepts operations of another queue in their order, and adjacent changes of records in one transaction.
  ///
  /// - Parameter zones: the zones of records that are named without one.
  /// - Returns: for each operation the error for which it is rejected; nil if it is accepted.
  /// - Throws: `StoreError` if the store cannot be written.
  package func enqueue(_ operations: [QueuedCloudKitOperation], in zones: [ZoneKey]) throws -> [(any Error)?] {
    var refusals = [(any Error)?](repeating: nil, count: operations.count)
    var open: [(place: Int, change: Change)] = []
    func accept() throws {
      let changes = open
      guard !changes.isEmpty else { return }
      open = []
      for ((place, _), accepted) in zip(changes, try enqueue(changes.map(\.change))) {
        if case .refused(let reason) = accepted { refusals[place] = StoreError(.invalid, reason) }
      }
    }
    for (place, operation) in operations.enumerated() {
      // All but these depend on the operations before.
      if operation.recordData == nil, operation.operationType != "delete" || operation.zone == nil { try accept() }
      do {
        guard let change = try change(for: operation, in: zones) else { continue }
        open.append((place, change))
      } catch let error as StoreError where error.kind != .invalid {
        throw error
      } catch {
        refusals[place] = error
      }
    }
    try accept()
    return refusals
  }

  /// Returns the change of a record that an operation holds; nil for one of a zone, which is accepted here.
  private func change(for operation: QueuedCloudKitOperation, in zones: [ZoneKey]) throws -> Change? {
    var change: Change
    switch (operation.operationType, operation.recordData, operation.recordID, operation.zone) {
    case ("save", let data?, _, _): change = try Change.saving(Self.record(data)).change
    case ("delete", _, let name?, _): change = Change(try key(name, of: operation, in: zones), .delete)
    case ("zoneSave", _, _, let zone?):
      if case .refused(let reason) = try enqueueZone(zone) { throw StoreError(.invalid, reason) }
      return nil
    case ("zoneDelete", _, _, let zone?):
      _ = try acceptDeletion(of: zone)
      return nil
    case ("save", _, _, _): throw Self.refusal("A save needs the data of its record.")
    case ("delete", _, _, _): throw Self.refusal("A delete needs the name of its record.")
    case (let type, _, _, _): throw Self.refusal("An operation of type \(type) cannot be queued.")
    }
    change.attemptLimit = max(1, operation.maxRetries)
    change.editedAt = Milliseconds.since1970(reference: operation.timestamp.timeIntervalSinceReferenceDate)
    return change
  }

  /// The key of an operation's record.
  fileprivate func key(_ name: String, of operation: QueuedCloudKitOperation, in zones: [ZoneKey]) throws -> RecordKey {
    if let data = operation.recordData { return RecordKey(try Self.record(data).recordID) }
    if let zone = operation.zone { return RecordKey(zone, name) }
    let keys = zones.map { RecordKey($0, name) }
    let known = try read { ledger in
      try keys.first { try ledger.operation(for: $0) != nil || ledger.changeTag($0) != nil }
    }
    return known ?? keys[keys.count - 1]
  }

  /// The zones of records that are named without one, in which they are looked for.
  package var zonesForNames: [ZoneKey] { [scope.zoneForChangesWithoutOne, .defaultZone] }

  private static func record(_ data: Data) throws -> CKRecord {
    let unarchiver = NSKeyedUnarchiver.reading(data)
    guard let record = try? unarchiver?.decodeTopLevelObject(of: CKRecord.self, forKey: NSKeyedArchiveRootObjectKey)
    else { throw refusal("The data of the operation hold no record.") }
    return record
  }

  private static func refusal(_ text: String) -> CKError {
    CKError(.invalidArguments, userInfo: [NSLocalizedDescriptionKey: text])
  }
}

extension QueuedCloudKitOperation {
  fileprivate var zone: ZoneKey? { zoneName.map { ZoneKey(zone: $0, owner: zoneOwner ?? "") } }
}
