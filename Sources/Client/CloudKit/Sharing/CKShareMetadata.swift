public import Foundation

/// The metadata of a share, fetched by its URL, before or after it is accepted.
///
/// Use it by its name `CKShare.Metadata`. `CKContainer.shareMetadata(for:)` returns it, and `CKContainer.accept(_:)`
/// takes it. A subclass, for example in tests, can override its values; `accept(_:)` uses those of the underlying
/// metadata.
///
/// `@unchecked Sendable`: it is immutable.
open class CKShareMetadata: NSObject, CKArchivable, NSCopying, @unchecked Sendable {
  /// The container of the shared records.
  open private(set) var containerIdentifier: String
  /// The share.
  open private(set) var share: CKShare
  /// The root of the shared hierarchy; nil if a whole zone is shared.
  open private(set) var hierarchicalRootRecordID: CKRecordID?
  /// The role of the current user.
  open private(set) var participantRole: CKShare.ParticipantRole
  /// The current user's reply to the invitation.
  open private(set) var participantStatus: CKShare.ParticipantAcceptanceStatus
  /// The permission of the current user.
  open private(set) var participantPermission: CKShare.ParticipantPermission
  /// The owner of the shared records.
  open private(set) var ownerIdentity: CKUserIdentity
  /// The root of the shared hierarchy, if it was requested.
  open private(set) var rootRecord: CKRecord?

  /// The short GUID that identifies the share to the server.
  let shortGUID: String

  /// The role under its older name.
  @available(*, deprecated, renamed: "participantRole")
  open var participantType: CKShare.ParticipantType { participantRole.type }

  /// The root of the shared hierarchy; for a shared zone, the ID of the share itself.
  @available(*, deprecated, renamed: "hierarchicalRootRecordID")
  open var rootRecordID: CKRecordID { hierarchicalRootRecordID ?? share.recordID }

  /// Creates metadata from a reply.
  ///
  /// - Parameter containerIdentifier: The container that was queried, which replies may omit.
  init(_ wireShare: WireRecord, shortGUID: String, wire: WireShareInformation, containerIdentifier: String) {
    let scope: CKDatabase.Scope = wire.databaseScope?.uppercased() == "PRIVATE" ? .private : .shared
    let zoneID = (wire.zoneID ?? wireShare.zoneID).map { CKRecordZoneID(wire: $0, in: scope) } ?? .default
    self.containerIdentifier = wire.containerIdentifier ?? containerIdentifier
    share = CKShare(received: wireShare, zoneID: zoneID)
    hierarchicalRootRecordID = wire.rootRecordName.map { CKRecordID(recordName: $0, zoneID: zoneID) }
    participantRole = CKShare.ParticipantRole(wire: wire.participantType)
    participantStatus = CKShare.ParticipantAcceptanceStatus(wire: wire.participantStatus)
    participantPermission = CKShare.ParticipantPermission(wire: wire.participantPermission)
    ownerIdentity = wire.ownerIdentity.map(CKUserIdentity.init(wire:)) ?? share.owner.userIdentity
    rootRecord = wire.rootRecord.map { CKRecord.received($0, zoneID: zoneID) }
    self.shortGUID = shortGUID
  }

  /// Decodes archived metadata; nil if a part is missing.
  public required init?(coder: NSCoder) {
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
  open func encode(with coder: NSCoder) {
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

  /// Returns the metadata itself, because it is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The container, and the role, permission and status of the current user.
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
