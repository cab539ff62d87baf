public import Foundation
internal import Synchronization

/// A wish to be told of changes. Make one of its three kinds: `CKQuerySubscription`, `CKRecordZoneSubscription`,
/// `CKDatabaseSubscription`.
///
/// A subscription belongs to a user, or to a server-to-server key, in one database. Saving one again under the same
/// identifier replaces it. The pushes arrive as `CKNotification`s, on Linux through `CKContainer.notifications`.
///
/// `@unchecked Sendable`: what changes lies behind a lock.
open class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  /// A subscription's identifier.
  public typealias ID = String
  /// What the push says and does.
  public typealias NotificationInfo = CKNotificationInfo

  /// The kinds of subscription, with Apple's numbers.
  public enum SubscriptionType: Int, Sendable {
    /// Fires for records that match a query.
    case query = 1
    /// Fires for any change in a zone.
    case recordZone = 2
    /// Fires for any change in a database.
    case database = 3
  }

  /// The identifier, unique among its owner's subscriptions in a database.
  public let subscriptionID: ID
  /// Which of the three kinds this is.
  public let subscriptionType: SubscriptionType

  private struct Info {
    var value: CKNotificationInfo?
    /// The record type that a zone's or a database's subscription was narrowed to.
    var recordType: CKRecord.RecordType?
  }

  private let info: Mutex<Info>

  init(_ subscriptionType: SubscriptionType, subscriptionID: ID) {
    self.subscriptionType = subscriptionType
    self.subscriptionID = subscriptionID
    info = Mutex(Info())
  }

  init(_ subscriptionType: SubscriptionType, wire: WireSubscription) {
    self.subscriptionType = subscriptionType
    subscriptionID = wire.subscriptionID
    info = Mutex(Info(value: wire.notificationInfo.map(CKNotificationInfo.init(wire:))))
  }

  /// What the push says and does. The server refuses some subscriptions without it.
  open var notificationInfo: NotificationInfo? {
    get { info.withLock { $0.value } }
    set { info.withLock { $0.value = newValue } }
  }

  /// The record type that a zone's or a database's subscription was narrowed to, which no server can be told.
  final var narrowedRecordType: CKRecord.RecordType? {
    get { info.withLock { $0.recordType } }
    set { info.withLock { $0.recordType = newValue } }
  }

  /// Reads an archived subscription; nil where it is damaged or of another kind than is asked for.
  public required init?(coder: NSCoder) { nil }

  /// Archives everything. A query that the server could not run has no archive: reading it gives nil.
  open func encode(with coder: NSCoder) {
    if let wire = try? wire() { coder.encode(wire: wire, forKey: Self.archiveKey) }
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }

  /// A subscription of its own with the same parts.
  open func copy(with zone: NSZone? = nil) -> Any {
    preconditionFailure("A subscription is of one of the three kinds.")
  }

  /// Whether the other object is the same subscription in every part.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKSubscription else { return false }
    if self === other { return true }
    guard let wire = try? wire(), let otherWire = try? other.wire() else { return false }
    return wire == otherWire
  }

  /// Equal for equal subscriptions.
  public override var hash: Int { subscriptionID.hashValue }
  /// The kind and the identifier.
  public override var description: String { "<\(type(of: self)) \(subscriptionID)>" }

  private static let archiveKey = "Subscription"

  /// What an archive holds, for the kinds to read.
  static func archived(in coder: NSCoder) -> WireSubscription? {
    coder.wire(WireSubscription.self, forKey: archiveKey)
  }

  /// The subscription as the wire spells it.
  ///
  /// - Throws: `CKError.invalidArguments` naming what the server cannot do.
  func wire() throws(CKError) -> WireSubscription {
    if let type = narrowedRecordType {
      throw .invalidArguments("The subscription \(subscriptionID) cannot be narrowed to the record type \(type).")
    }
    var wire = WireSubscription(subscriptionID: subscriptionID)
    wire.notificationInfo = notificationInfo?.wire
    return wire
  }
}

extension CKSubscription {
  /// A subscription of the kind that an answer names; nil for a kind that this library does not know.
  static func subscription(wire: WireSubscription) -> CKSubscription? {
    switch wire.subscriptionType {
    case "query": CKQuerySubscription(wire: wire)
    case "zone": CKRecordZoneSubscription(wire: wire)
    case "database": CKDatabaseSubscription(wire: wire)
    default: nil
    }
  }
}
