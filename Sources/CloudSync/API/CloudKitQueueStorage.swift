public import Foundation

/// A change that waits in a queue, as `CloudKitQueueStorage` hands it over.
public struct QueuedCloudKitOperation: Codable, Identifiable, Hashable, Sendable {
  /// Tells the operation from all others.
  public let id: UUID
  /// `save` or `delete`; in a store also `zoneSave` and `zoneDelete`.
  public let operationType: String
  /// The record of a save, as `NSKeyedArchiver` writes it.
  public let recordData: Data?
  /// The record's name.
  public let recordID: String?
  /// The record's type, where it is known.
  public let recordType: String?
  /// When it was enqueued.
  public let timestamp: Date
  /// Attempts that failed so far.
  public var retryCount: Int
  /// Attempts after which it has failed for good.
  public var maxRetries: Int
  /// When its own wait ends; nil where it has none.
  public var nextRetryAt: Date?
  /// `pending`, `processing` or `failed`; in a store also `paused` and `conflict`.
  public var status: String
  /// Why the last attempt failed.
  public var errorMessage: String?

  /// An operation as it is handed in.
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
    errorMessage: String? = nil
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
  }
}

/// A queue of changes in the order in which they came. `StoreQueueStorage` is the one that survives whatever happens.
@MainActor
public protocol CloudKitQueueStorage {
  /// Adds an operation behind all others.
  func enqueue(_ operation: QueuedCloudKitOperation) throws
  /// Takes the oldest pending operation out.
  func dequeue() throws -> QueuedCloudKitOperation?
  /// The oldest pending operation.
  func peek() throws -> QueuedCloudKitOperation?
  /// Takes an operation out; nothing where it is not there.
  func remove(_ operation: QueuedCloudKitOperation) throws
  /// How many operations are pending.
  func count() throws -> Int
  /// Takes all operations out.
  func clear() throws
  /// All operations, oldest first.
  func getAllOperations() throws -> [QueuedCloudKitOperation]
}
