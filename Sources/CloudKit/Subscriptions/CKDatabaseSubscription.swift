public import Foundation

/// Fires for any change in the custom zones of a database: what a program that follows everything needs.
///
/// It works in the private and the shared database. The push names the database and nothing else: ask for its changes.
open class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
  /// Makes a subscription under an identifier. Use one that never changes, so that saving it again replaces it.
  public init(subscriptionID: CKSubscription.ID) {
    super.init(.database, subscriptionID: subscriptionID)
  }

  /// Makes a subscription under a random identifier.
  public convenience init() { self.init(subscriptionID: UUID().uuidString) }

  /// The record type that alone is watched; nil for all.
  ///
  /// Web Services cannot narrow these subscriptions: saving one with a type fails with `CKError.invalidArguments`.
  open var recordType: CKRecord.RecordType? {
    get { narrowedRecordType }
    set { narrowedRecordType = newValue }
  }

  /// Reads an archived subscription; nil where it is damaged or of another kind.
  public required init?(coder: NSCoder) {
    guard let wire = Self.archived(in: coder), wire.subscriptionType == "database" else { return nil }
    super.init(.database, wire: wire)
  }

  init?(wire: WireSubscription) {
    guard wire.subscriptionType == "database" else { return nil }
    super.init(.database, wire: wire)
  }

  /// A subscription of its own with the same parts.
  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKDatabaseSubscription(subscriptionID: subscriptionID)
    copy.notificationInfo = notificationInfo?.copy() as? CKNotificationInfo
    copy.recordType = recordType
    return copy
  }

  override func wire() throws(CKError) -> WireSubscription {
    var wire = try super.wire()
    wire.subscriptionType = "database"
    return wire
  }
}
