public import Foundation
internal import Synchronization

/// Asks the server to send a push notification when records change. Use one of its three subclasses:
/// `CKQuerySubscription`, `CKRecordZoneSubscription` or `CKDatabaseSubscription`.
///
/// A subscription belongs to a user, or to a server-to-server key, in one database. Saving a subscription with an
/// existing identifier replaces the existing one. Pushes arrive as `CKNotification`s; on Linux, through
/// `CKContainer.notifications`.
///
/// `@unchecked Sendable`: a lock protects all mutable state.
open class CKSubscription: NSObject, CKArchivable, NSCopying, @unchecked Sendable {
  /// The identifier of a subscription.
  public typealias ID = String
  /// The contents and behavior of a push.
  public typealias NotificationInfo = CKNotificationInfo

  /// The types of subscriptions. The raw values are Apple's.
  public enum SubscriptionType: Int, Sendable {
    /// Fires for records that match a query.
    case query = 1
    /// Fires for any change in a zone.
    case recordZone = 2
    /// Fires for any change in a database.
    case database = 3
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }

  /// The identifier, unique among the owner's subscriptions in a database.
  public let subscriptionID: ID
  /// The type of the subscription.
  public let subscriptionType: SubscriptionType

  private struct Info {
    var value: CKNotificationInfo?
    /// The record type of a zone or database subscription.
    var recordType: CKRecord.RecordType?
  }

  private let info: Mutex<Info>

  init(_ subscriptionType: SubscriptionType, subscriptionID: ID) {
    self.subscriptionType = subscriptionType
    self.subscriptionID = subscriptionID
    info = Mutex(Info())
  }

  init(_ subscriptionType: SubscriptionType, wire: WireSubscription, recordType: CKRecord.RecordType? = nil) {
    self.subscriptionType = subscriptionType
    subscriptionID = wire.subscriptionID
    info = Mutex(Info(value: wire.notificationInfo.map(CKNotificationInfo.init(wire:)), recordType: recordType))
  }

  /// The contents and behavior of the push. The server refuses some subscriptions without it.
  open var notificationInfo: NotificationInfo? {
    get { info.withLock { $0.value } }
    set { info.withLock { $0.value = newValue } }
  }

  /// The record type of a zone or database subscription. It is kept here and not sent: Web Services have no such
  /// member.
  final var narrowedRecordType: CKRecord.RecordType? {
    get { info.withLock { $0.recordType } }
    set { info.withLock { $0.recordType = newValue } }
  }

  /// Decodes an archived subscription; nil if it is damaged or of another type.
  public required init?(coder: NSCoder) { nil }

  /// Archives the subscription. A subscription that cannot be sent to the server, such as one with an unsupported
  /// query, is not archived, so decoding it returns nil.
  open func encode(with coder: NSCoder) {
    guard let wire = try? wire() else { return }
    coder.encode(wire: wire, forKey: Self.archiveKey)
    if let type = narrowedRecordType { coder.encode(NSString(string: type), forKey: Self.recordTypeKey) }
  }

  /// Returns a copy of the subscription. Only subclasses implement it.
  open func copy(with zone: NSZone? = nil) -> Any {
    preconditionFailure("CKSubscription is abstract; use one of its subclasses.")
  }

  /// Whether the other subscription has equal properties.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKSubscription else { return false }
    if self === other { return true }
    guard let wire = try? wire(), let otherWire = try? other.wire() else { return false }
    return wire == otherWire && narrowedRecordType == other.narrowedRecordType
  }

  /// A hash value that is equal for equal subscriptions.
  public override var hash: Int { subscriptionID.hashValue }
  /// The type and the identifier.
  public override var description: String { "<\(type(of: self)) \(subscriptionID)>" }

  private static let archiveKey = "Subscription"
  private static let recordTypeKey = "RecordType"

  /// Decodes the archived values, for the subclasses.
  static func archived(in coder: NSCoder) -> WireSubscription? {
    coder.wire(WireSubscription.self, forKey: archiveKey)
  }

  /// Decodes the archived record type of a zone or database subscription.
  static func archivedRecordType(in coder: NSCoder) -> CKRecord.RecordType? { coder.string(forKey: recordTypeKey) }

  /// Returns the subscription in its wire encoding.
  ///
  /// - Throws: `CKError.invalidArguments` that names the part the server does not support.
  func wire() throws(CKError) -> WireSubscription {
    var wire = WireSubscription(subscriptionID: subscriptionID)
    wire.notificationInfo = notificationInfo?.wire
    return wire
  }
}

extension CKSubscription {
  /// Creates a subscription of the type in the reply; nil for a type that this library does not know.
  static func subscription(wire: WireSubscription) -> CKSubscription? {
    switch wire.subscriptionType {
    case "query": CKQuerySubscription(wire: wire)
    case "zone": CKRecordZoneSubscription(wire: wire)
    case "database": CKDatabaseSubscription(wire: wire)
    default: nil
    }
  }
}
