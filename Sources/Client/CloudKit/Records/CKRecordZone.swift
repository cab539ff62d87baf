public import Foundation
internal import Synchronization

/// A part of a database. The records of a zone can be saved atomically, shared and fetched by changes.
public final class CKRecordZone: NSObject, CKArchivable, CKImmutable, Sendable {
  /// A zone's identifier.
  public typealias ID = CKRecordZoneID

  /// The capabilities of a zone.
  public struct Capabilities: OptionSet, Sendable {
    /// The raw bits.
    public let rawValue: UInt
    /// Makes a set of capabilities from its bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The zone has a change feed.
    public static let fetchChanges = Capabilities(rawValue: 1 << 0)
    /// Several changes can be saved atomically: all of them or none.
    public static let atomic = Capabilities(rawValue: 1 << 1)
    /// The zone's records can be shared.
    public static let sharing = Capabilities(rawValue: 1 << 2)
    /// The zone can be shared as a whole.
    public static let zoneWideSharing = Capabilities(rawValue: 1 << 3)
  }

  /// The zone's identifier.
  public let zoneID: CKRecordZoneID

  /// The capabilities of the zone: none for a default zone, all for a custom zone.
  public var capabilities: Capabilities {
    zoneID.isDefault ? [] : [.fetchChanges, .atomic, .sharing, .zoneWideSharing]
  }

  /// A reference to the share of the whole zone; nil if there is none or it is not known. Only
  /// `CKDatabase.recordZone(for:)` fetches it, because Web Services do not report it with the zone.
  public let share: CKRecord.Reference?

  /// The scope of the keys for encrypted fields.
  public enum EncryptionScope: Int, Sendable {
    /// Each record has its own keys.
    case perRecord = 0
    /// All records of the zone share their keys.
    case perZone = 1
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }

  /// The scope of the keys for encrypted fields; `perRecord` by default. Web Services cannot set or report it, so it is
  /// only kept in this object.
  public var encryptionScope: EncryptionScope {
    get { scope.withLock { $0 } }
    set { scope.withLock { $0 = newValue } }
  }

  private let scope = Mutex(EncryptionScope.perRecord)

  /// Makes a zone of the current user. It does not exist on the server until it is saved.
  public convenience init(zoneName: String) { self.init(zoneID: CKRecordZoneID(zoneName: zoneName)) }

  /// Makes a zone. It does not exist on the server until it is saved.
  public convenience init(zoneID: CKRecordZoneID) { self.init(zoneID: zoneID, share: nil) }

  init(zoneID: CKRecordZoneID, share: CKRecord.Reference?) {
    self.zoneID = zoneID
    self.share = share
  }

  /// Returns the default zone.
  public class func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

  /// Reads an archived zone; nil if its identifier is missing.
  public init?(coder: NSCoder) {
    guard let zoneID = coder.object(CKRecordZoneID.self, forKey: "ZoneID") else { return nil }
    self.zoneID = zoneID
    share = nil
  }

  /// Archives the identifier.
  public func encode(with coder: NSCoder) { coder.encode(zoneID, forKey: "ZoneID") }

  /// The zone's name and owner.
  public override var description: String { "<CKRecordZone \(zoneID.zoneName):\(zoneID.ownerName)>" }
}
