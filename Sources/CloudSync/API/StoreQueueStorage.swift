public import CloudKit
import Foundation

/// The queue of a store, for code that keeps its changes in a `CloudKitQueueStorage`.
///
/// What is enqueued is on disk on return and is sent by whoever drives the store; nothing has to be dequeued for that.
/// There is one operation for a record: a later one is merged into it. An operation that is taken out, whether to be sent
/// by other means or not at all, ends as discarded; one that is on its way to the server stays. What was dequeued can be
/// enqueued again as it is: its record knows which of its fields are changes.
@MainActor
public final class StoreQueueStorage: CloudKitQueueStorage {
  private let store: SyncStore
  private let zones: [ZoneKey]

  /// - Parameter zoneID: where the records lie that are named without a zone. Nil: where the store knows one of that name, in
  ///   the zone that it has for changes without one or in the default zone; a name that it does not know is the default zone's.
  public init(_ store: SyncStore, zoneID: CKRecordZone.ID? = nil) {
    self.store = store
    zones = zoneID.map { [ZoneKey($0)] } ?? [store.scope.zoneForChangesWithoutOne, .defaultZone]
  }

  /// A record that is named without a zone.
  private func key(_ name: String) throws(StoreError) -> RecordKey {
    let keys = zones.map { RecordKey($0, name) }
    let known = try store.read { ledger in
      try keys.first { try ledger.operation(for: $0) != nil || ledger.changeTag($0) != nil }
    }
    return known ?? keys[keys.count - 1]
  }

  /// Accepts a save with its record's data, or a delete: on disk on return.
  ///
  /// - Throws: `CKError` or `StoreError` where there is nothing to be sent, or what can never be sent.
  public func enqueue(_ operation: QueuedCloudKitOperation) throws {
    switch (operation.operationType, operation.recordData, operation.recordID) {
    case ("save", let data?, _):
      try store.save([Self.record(data)])
    case ("delete", _, let name?):
      try store.delete([key(name).recordID])
    default:
      throw Self.refusal(
        "A \(operation.operationType) needs \(operation.operationType == "save" ? "data" : "a record")."
      )
    }
  }

  /// Takes the oldest pending operation out of the store; it is not sent then.
  public func dequeue() throws -> QueuedCloudKitOperation? {
    // One that has gone on its way since it was looked at is not taken out: the next one is.
    while let row = try oldest() {
      let first = try operation(row)
      // Not for good: its files are needed where it is enqueued again.
      if try store.perform(.discard, on: .ids([row.id]), actor: "app").changed == [row.id] {
        return first
      }
    }
    return nil
  }

  /// The oldest pending operation; nil where there is none.
  public func peek() throws -> QueuedCloudKitOperation? { try oldest().map(operation) }

  private func oldest() throws -> QueueRow? {
    try store.operations(matching: QueueFilter(parsing: "state = 'pending'"), limit: 1).rows.first
  }

  /// Takes an operation out, by its identifier or, where that is not the store's, by its record.
  ///
  /// One of the store's that has ended is gone, whatever has been enqueued for its record since.
  public func remove(_ operation: QueuedCloudKitOperation) throws {
    if let id = Self.number(operation.id) {
      _ = try store.perform(.discard, on: .ids([id]), isFinal: true, actor: "app")
    } else if let name = operation.recordID {
      let key = try operation.recordData.map { RecordKey(try Self.record($0).recordID) } ?? key(name)
      guard let known = try store.read({ try $0.operation(for: key)?.id }) else { return }
      _ = try store.perform(.discard, on: .ids([known]), isFinal: true, actor: "app")
    }
  }

  /// How many operations are pending, those in a back-off of their own left out.
  public func count() throws -> Int { try store.read { try $0.operationCount(in: .pending) } }

  /// Takes all operations out, but for those on their way to the server.
  public func clear() throws { _ = try store.perform(.discard, on: .all, isFinal: true, actor: "app") }

  /// All operations, in whatever state, oldest first.
  public func getAllOperations() throws -> [QueuedCloudKitOperation] { try store.operations().rows.map(operation) }

  private func operation(_ row: QueueRow) throws -> QueuedCloudKitOperation {
    let record = row.kind == .save ? try store.draft(row.id) : nil
    return QueuedCloudKitOperation(
      id: Self.identifier(row.id),
      operationType: row.kind.rawValue,
      recordData: try record.map { try NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true) },
      recordID: row.key.name.isEmpty ? nil : row.key.name,
      recordType: row.type,
      timestamp: Self.date(row.enqueuedAt),
      retryCount: row.attempts,
      maxRetries: row.maxAttempts,
      nextRetryAt: row.nextAttemptAt.map(Self.date),
      status: Self.status(row.state),
      errorMessage: row.errorMessage
    )
  }

  private static func record(_ data: Data) throws -> CKRecord {
    guard let record = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data) else {
      throw refusal("The data of the save hold no record.")
    }
    return record
  }

  private static func status(_ state: OperationState) -> String {
    switch state {
    case .pending, .waiting: "pending"
    case .inFlight: "processing"
    case .failed, .paused, .conflict: state.rawValue
    }
  }

  private static func date(_ time: Int64) -> Date { Date(timeIntervalSince1970: Double(time) / 1000) }

  /// The same for the same operation at all times.
  private static func identifier(_ id: Int64) -> UUID {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: id >> (56 - 8 * $0)) }
    return UUID(
      uuid: (
        0x63, 0x6B, 0x74, 0x6F, 0x70, 0, 0x80, 0, bytes[0] | 0x80, bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
        bytes[6], bytes[7]
      )
    )
  }

  /// The number of an operation of the store's by its identifier; nil for somebody else's.
  private static func number(_ identifier: UUID) -> Int64? {
    let bytes = withUnsafeBytes(of: identifier.uuid) { Array($0) }
    let id = bytes[8...].reduce(Int64(0)) { $0 << 8 | Int64($1) } & .max
    return Self.identifier(id) == identifier ? id : nil
  }

  private static func refusal(_ text: String) -> CKError {
    CKError(.invalidArguments, userInfo: [NSLocalizedDescriptionKey: text])
  }
}
