public import Foundation

/// A part of a database whose records are saved, shared and followed together.
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// A zone's identity.
  public typealias ID = CKRecordZoneID

  /// What a zone can do.
  public struct Capabilities: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt
    /// Makes a set of capabilities from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The zone has a change feed.
    public static let fetchChanges = Capabilities(rawValue: 1 << 0)
    /// Several changes can be saved as one: all of them or none.
    public static let atomic = Capabilities(rawValue: 1 << 1)
    /// Its records can be shared.
    public static let sharing = Capabilities(rawValue: 1 << 2)
    /// The zone can be shared as a whole.
    public static let zoneWideSharing = Capabilities(rawValue: 1 << 3)
  }

  /// The zone's identity.
  public let zoneID: CKRecordZoneID

  /// What the zone can do: a default zone nothing special, a zone of one's own everything.
  public var capabilities: Capabilities {
    zoneID.isDefault ? [] : [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
  }

  /// Always nil: Web Services name no share with a zone. Fetch the record `CKRecordNameZoneWideShare` of the zone instead.
  public var share: CKRecord.Reference? { nil }

  /// Makes a zone of the current user's. It exists once it is saved.
  public convenience init(zoneName: String) { self.init(zoneID: CKRecordZoneID(zoneName: zoneName)) }

  /// Makes a zone. It exists once it is saved.
  public init(zoneID: CKRecordZoneID) { self.zoneID = zoneID }

  /// The default zone.
  public class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

  /// Reads an archived zone; nil where its identity is missing.
  public init?(coder: NSCoder) {
    guard let zoneID = coder.object(CKRecordZoneID.self, forKey: "ZoneID") else { return nil }
    self.zoneID = zoneID
  }

  /// Archives the identity.
  public func encode(with coder: NSCoder) { coder.encode(zoneID, forKey: "ZoneID") }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The zone itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// The zone's name and owner.
  public override var description: String { "<CKRecordZone \(zoneID.zoneName):\(zoneID.ownerName)>" }
}
