public import Foundation

/// A subscription that fires for any change in the custom zones of a database.
///
/// It works in the private and the shared database. The push only names the database; fetch the database's changes when
/// it arrives.
open class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
  /// Creates a subscription with an identifier. Use a fixed identifier, so that saving the subscription again replaces
  /// it.
  public init(subscriptionID: CKSubscription.ID) {
    super.init(.database, subscriptionID: subscriptionID)
  }

  /// The identifier of the subscription to all changes of a database, which sync engines and observers share.
  package static let allChangesID = "cktop-changes"

  /// Creates a subscription with a random identifier.
  public convenience init() { self.init(subscriptionID: UUID().uuidString) }

  /// The record type to watch; nil for all.
  ///
  /// It stays in this object, its copies and archives. Web Services cannot limit the subscription, and their pushes
  /// name no record type: a push comes for every type, and your program picks the records of this type from the fetched
  /// changes.
  open var recordType: CKRecord.RecordType? {
    get { narrowedRecordType }
    set { narrowedRecordType = newValue }
  }

  /// Decodes an archived subscription; nil if it is damaged or of another type.
  public required init?(coder: NSCoder) {
    guard let wire = Self.archived(in: coder), wire.subscriptionType == "database" else { return nil }
    super.init(.database, wire: wire, recordType: Self.archivedRecordType(in: coder))
  }

  init?(wire: WireSubscription) {
    guard wire.subscriptionType == "database" else { return nil }
    super.init(.database, wire: wire)
  }

  /// Returns a copy of the subscription.
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

extension CKDatabase {
  /// Returns the server's subscription to all changes, whatever its push; saves one with silent pushes if there is
  /// none.
  package func subscribeToAllChanges(as id: CKSubscription.ID) async throws -> CKSubscription {
    do {
      if let known = try await subscription(for: id) as? CKDatabaseSubscription { return known }
    } catch CKError.unknownItem {}
    let wanted = CKDatabaseSubscription(subscriptionID: id)
    wanted.notificationInfo = CKNotificationInfo(wire: .silent)
    return try await save(wanted)
  }
}
