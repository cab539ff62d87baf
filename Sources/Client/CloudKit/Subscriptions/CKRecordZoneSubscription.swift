public import Foundation

/// A subscription that fires for any change in one custom zone of the private database.
open class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
  /// The zone to watch.
  public let zoneID: CKRecordZone.ID

  /// The record type to watch; nil for all.
  ///
  /// It stays in this object, its copies and archives. Web Services cannot limit the subscription, and their pushes
  /// name no record type: a push comes for every type, and your program picks the records of this type from the fetched
  /// changes.
  open var recordType: CKRecord.RecordType? {
    get { narrowedRecordType }
    set { narrowedRecordType = newValue }
  }

  /// Creates a subscription with an identifier. Use a fixed identifier, so that saving the subscription again replaces
  /// it.
  public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
    self.zoneID = zoneID
    super.init(.recordZone, subscriptionID: subscriptionID)
  }

  /// Creates a subscription with a random identifier.
  public convenience init(zoneID: CKRecordZone.ID) { self.init(zoneID: zoneID, subscriptionID: UUID().uuidString) }

  /// Decodes an archived subscription; nil if it is damaged or of another type.
  public required init?(coder: NSCoder) {
    guard let wire = Self.archived(in: coder), let read = CKRecordZoneSubscription(wire: wire) else { return nil }
    zoneID = read.zoneID
    super.init(.recordZone, wire: wire, recordType: Self.archivedRecordType(in: coder))
  }

  init?(wire: WireSubscription) {
    guard wire.subscriptionType == "zone", let zone = wire.zoneID else { return nil }
    zoneID = CKRecordZoneID(wire: zone, in: .private)
    super.init(.recordZone, wire: wire)
  }

  /// Returns a copy of the subscription.
  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
    copy.notificationInfo = notificationInfo?.copy() as? CKNotificationInfo
    copy.recordType = recordType
    return copy
  }

  override func wire() throws(CKError) -> WireSubscription {
    var wire = try super.wire()
    wire.subscriptionType = "zone"
    // The documentation's table has no zone here, but Apple's own example sends it (reference 0.2).
    wire.zoneID = zoneID.wire
    return wire
  }
}
