public import Foundation

/// Fires for any change in one custom zone of the private database.
open class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
  /// The zone that is watched.
  public let zoneID: CKRecordZone.ID

  /// The record type that alone is watched; nil for all.
  ///
  /// Web Services cannot narrow these subscriptions: saving one with a type fails with `CKError.invalidArguments`.
  open var recordType: CKRecord.RecordType? {
    get { narrowedRecordType }
    set { narrowedRecordType = newValue }
  }

  /// Makes a subscription under an identifier. Use one that never changes, so that saving it again replaces it.
  public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
    self.zoneID = zoneID
    super.init(.recordZone, subscriptionID: subscriptionID)
  }

  /// Makes a subscription under a random identifier.
  public convenience init(zoneID: CKRecordZone.ID) { self.init(zoneID: zoneID, subscriptionID: UUID().uuidString) }

  /// Reads an archived subscription; nil where it is damaged or of another kind.
  public required init?(coder: NSCoder) {
    guard let wire = Self.archived(in: coder), let read = CKRecordZoneSubscription(wire: wire) else { return nil }
    zoneID = read.zoneID
    super.init(.recordZone, wire: wire)
  }

  init?(wire: WireSubscription) {
    guard wire.subscriptionType == "zone", let zone = wire.zoneID else { return nil }
    zoneID = CKRecordZoneID(wire: zone, in: .private)
    super.init(.recordZone, wire: wire)
  }

  /// A subscription of its own with the same parts.
  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
    copy.notificationInfo = notificationInfo?.copy() as? CKNotificationInfo
    copy.recordType = recordType
    return copy
  }

  override func wire() throws(CKError) -> WireSubscription {
    var wire = try super.wire()
    wire.subscriptionType = "zone"
    // The documentation's table has no zone here; Apple's own example sends it (reference 0.2).
    wire.zoneID = zoneID.wire
    return wire
  }
}
