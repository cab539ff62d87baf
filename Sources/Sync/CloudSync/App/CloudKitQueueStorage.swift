public import Foundation

/// A queued change, as returned by `CloudKitQueueStorage`.
public struct QueuedCloudKitOperation: Codable, Identifiable, Hashable, Sendable {
  /// Identifies the operation.
  public let id: UUID
  /// `save` or `delete`; in a store also `zoneSave` and `zoneDelete`.
  public let operationType: String
  /// The record of a save, encoded with `NSKeyedArchiver`.
  public let recordData: Data?
  /// The record's name.
  public let recordID: String?
  /// The record's type, if known.
  public let recordType: String?
  /// The zone, or the record's zone; nil if unknown.
  public let zoneName: String?
  /// The owner of the zone; nil for the user.
  public let zoneOwner: String?
  /// The time at which it was enqueued.
  public let timestamp: Date
  /// The number of failed attempts.
  public var retryCount: Int
  /// The number of attempts after which it becomes a dead letter.
  public var maxRetries: Int
  /// The time of the next attempt; nil if it does not back off.
  public var nextRetryAt: Date?
  /// `pending`, `processing` or `failed`; in a store also `paused` and `conflict`.
  public var status: String
  /// The error of the last attempt.
  public var errorMessage: String?

  /// Creates an operation to enqueue.
  public init(
    id: UUID = UUID(),
    operationType: String,
    recordData: Data? = nil,
    recordID: String? = nil,
    recordType: String? = nil,
    timestamp: Date = Date(),
    retryCount: Int = 0,
    maxRetries: Int = 3,
    nextRetryAt: Date? = nil,
    status: String = "pending",
    errorMessage: String? = nil,
    zoneName: String? = nil,
    zoneOwner: String? = nil
  ) {
    self.id = id
    self.operationType = operationType
    self.recordData = recordData
    self.recordID = recordID
    self.recordType = recordType
    self.timestamp = timestamp
    self.retryCount = retryCount
    self.maxRetries = maxRetries
    self.nextRetryAt = nextRetryAt
    self.status = status
    self.errorMessage = errorMessage
    self.zoneName = zoneName
    self.zoneOwner = zoneOwner
  }
}

/// A queue of changes in the order of their arrival. `StoreQueueStorage` is the durable implementation.
@MainActor
public protocol CloudKitQueueStorage {
  /// Adds an operation at the end.
  func enqueue(_ operation: QueuedCloudKitOperation) throws
  /// Removes the oldest pending operation and returns it.
  func dequeue() throws -> QueuedCloudKitOperation?
  /// The oldest pending operation.
  func peek() throws -> QueuedCloudKitOperation?
  /// Removes an operation, if it is in the queue.
  func remove(_ operation: QueuedCloudKitOperation) throws
  /// The number of pending operations.
  func count() throws -> Int
  /// Removes all operations.
  func clear() throws
  /// All operations, oldest first.
  func getAllOperations() throws -> [QueuedCloudKitOperation]
}
