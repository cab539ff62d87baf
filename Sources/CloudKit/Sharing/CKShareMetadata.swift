public import Foundation

/// What is known of a share by its URL, before and after it is accepted.
///
/// Use it by its name `CKShare.Metadata`. `CKContainer.shareMetadata(for:)` makes it, `CKContainer.accept(_:)` takes it.
public final class CKShareMetadata: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// The container that the shared records are in.
  public let containerIdentifier: String
  /// The share.
  public let share: CKShare
  /// The root of the shared hierarchy; nil where a whole zone is shared.
  public let hierarchicalRootRecordID: CKRecordID?
  /// What the current user is to the share.
  public let participantRole: CKShare.ParticipantRole
  /// Whether the current user has accepted.
  public let participantStatus: CKShare.ParticipantAcceptanceStatus
  /// What the current user may do.
  public let participantPermission: CKShare.ParticipantPermission
  /// Whose records they are.
  public let ownerIdentity: CKUserIdentity
  /// The root of the shared hierarchy, where it was asked for.
  public let rootRecord: CKRecord?

  /// What names the share to the server.
  let shortGUID: String

  /// The role under its former name.
  @available(*, deprecated, renamed: "participantRole")
  public var participantType: CKShare.ParticipantType { participantRole.type }

  /// The root of the shared hierarchy; where a whole zone is shared, the share itself.
  @available(*, deprecated, renamed: "hierarchicalRootRecordID")
  public var rootRecordID: CKRecordID { hierarchicalRootRecordID ?? share.recordID }

  /// The metadata that an answer holds.
  ///
  /// - Parameter containerIdentifier: The container that was asked, which answers may leave out.
  init(wire: WireShareInformation, containerIdentifier: String) {
    let scope: CKDatabase.Scope = wire.databaseScope?.uppercased() == "PRIVATE" ? .private : .shared
    let zoneID = (wire.zoneID ?? wire.share.zoneID).map { CKRecordZoneID(wire: $0, in: scope) } ?? .default
    self.containerIdentifier = wire.containerIdentifier ?? containerIdentifier
    share = CKShare(received: wire.share, zoneID: zoneID)
    hierarchicalRootRecordID = wire.rootRecordName.map { CKRecordID(recordName: $0, zoneID: zoneID) }
    participantRole = CKShare.ParticipantRole(wire: wire.participantType)
    participantStatus = CKShare.ParticipantAcceptanceStatus(wire: wire.participantStatus)
    participantPermission = CKShare.ParticipantPermission(wire: wire.participantPermission)
    ownerIdentity = wire.ownerIdentity.map(CKUserIdentity.init(wire:)) ?? share.owner.userIdentity
    rootRecord = wire.rootRecord.map { CKRecord.received($0, zoneID: zoneID) }
    shortGUID = wire.shortGUID
  }

  /// Reads archived metadata; nil where something of it is missing.
  public init?(coder: NSCoder) {
    guard
      let containerIdentifier = coder.string(forKey: ArchiveKey.container),
      let share = coder.object(CKShare.self, forKey: ArchiveKey.share),
      let shortGUID = coder.string(forKey: ArchiveKey.shortGUID),
      let ownerIdentity = coder.object(CKUserIdentity.self, forKey: ArchiveKey.owner)
    else { return nil }
    self.containerIdentifier = containerIdentifier
    self.share = share
    self.shortGUID = shortGUID
    self.ownerIdentity = ownerIdentity
    hierarchicalRootRecordID = coder.object(CKRecordID.self, forKey: ArchiveKey.rootRecordID)
    rootRecord = coder.object(CKRecord.self, forKey: ArchiveKey.rootRecord)
    participantRole = CKShare.ParticipantRole(rawValue: coder.decodeInteger(forKey: ArchiveKey.role)) ?? .unknown
    participantStatus =
      CKShare.ParticipantAcceptanceStatus(rawValue: coder.decodeInteger(forKey: ArchiveKey.status)) ?? .unknown
    participantPermission =
      CKShare.ParticipantPermission(rawValue: coder.decodeInteger(forKey: ArchiveKey.permission)) ?? .unknown
  }

  /// Archives the metadata with its share.
  public func encode(with coder: NSCoder) {
    coder.encode(NSString(string: containerIdentifier), forKey: ArchiveKey.container)
    coder.encode(share, forKey: ArchiveKey.share)
    coder.encode(NSString(string: shortGUID), forKey: ArchiveKey.shortGUID)
    coder.encode(ownerIdentity, forKey: ArchiveKey.owner)
    if let hierarchicalRootRecordID { coder.encode(hierarchicalRootRecordID, forKey: ArchiveKey.rootRecordID) }
    if let rootRecord { coder.encode(rootRecord, forKey: ArchiveKey.rootRecord) }
    coder.encode(participantRole.rawValue, forKey: ArchiveKey.role)
    coder.encode(participantStatus.rawValue, forKey: ArchiveKey.status)
    coder.encode(participantPermission.rawValue, forKey: ArchiveKey.permission)
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The metadata itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// The container and what the current user is to the share.
  public override var description: String {
    "<CKShareMetadata of \(containerIdentifier): \(participantRole), \(participantPermission), \(participantStatus)>"
  }

  private enum ArchiveKey {
    static let container = "ContainerIdentifier"
    static let share = "Share"
    static let shortGUID = "ShortGUID"
    static let owner = "OwnerIdentity"
    static let rootRecordID = "RootRecordID"
    static let rootRecord = "RootRecord"
    static let role = "ParticipantRole"
    static let status = "ParticipantStatus"
    static let permission = "ParticipantPermission"
  }
}
