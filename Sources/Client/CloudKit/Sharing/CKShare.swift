public import Foundation
internal import Synchronization

/// The record type of shares.
public let CKRecordTypeShare = CKRecord.SystemType.share
/// The record name of the share of a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"
/// The same as `CKShare.SystemFieldKey.title`.
public let CKShareTitleKey = CKShare.SystemFieldKey.title
/// The same as `CKShare.SystemFieldKey.thumbnailImageData`.
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
/// The same as `CKShare.SystemFieldKey.shareType`.
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

/// A share: the people who may read and change a record and its descendants, or a whole zone, besides its owner.
///
/// Save a new share in the same call as its root record. It then has a `url` to send to the invited people:
///
/// ```swift
/// let share = CKShare(rootRecord: list)
/// share[CKShare.SystemFieldKey.title] = "Groceries"
/// try await container.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
/// ```
///
/// Only records in the user's custom zones can be shared. Deleting the share ends the sharing. A participant leaves a
/// share by deleting it from their shared database.
///
/// `@unchecked Sendable` for the same reason as its superclass: it adds no storage.
open class CKShare: CKRecord, @unchecked Sendable {
  /// The names of fields that every share may have.
  public enum SystemFieldKey {
    /// The title that invited people see; a string.
    public static let title = "cloudkit.title"
    /// The type of the shared content, as a type identifier; a string.
    public static let shareType = "cloudkit.type"
    /// A thumbnail image; data.
    public static let thumbnailImageData = "cloudkit.thumbnailImageData"
  }

  /// Creates a share of a record and all its descendants, and sets the record's `share`.
  public init(rootRecord: CKRecord) {
    let id = CKRecordID(recordName: "Share-\(UUID().uuidString)", zoneID: rootRecord.recordID.zoneID)
    super.init(recordType: SystemType.share, recordID: id, state: Self.state(root: rootRecord.recordID))
    rootRecord.state.withLock { $0.share = CKReference(recordID: id, action: .none) }
  }

  /// Creates a share of a record with a record ID in the record's zone, and sets the record's `share`.
  public init(rootRecord: CKRecord, shareID: CKRecordID) {
    super.init(recordType: SystemType.share, recordID: shareID, state: Self.state(root: rootRecord.recordID))
    rootRecord.state.withLock { $0.share = CKReference(recordID: shareID, action: .none) }
  }

  /// Creates a share of a whole zone.
  public init(recordZoneID: CKRecordZoneID) {
    let id = CKRecordID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID)
    super.init(recordType: SystemType.share, recordID: id, state: Self.state(root: nil))
  }

  /// Returns the state of a new share.
  private static func state(root: CKRecordID?) -> RecordState {
    var state = RecordState()
    state.sharing = ShareState(rootRecordName: root?.recordName)
    return state
  }

  /// Creates a share from a reply.
  convenience init(received wire: WireRecord, zoneID: CKRecordZoneID) {
    var state = RecordState(wire: wire, zoneID: zoneID)
    state.sharing = ShareState(wire: wire)
    self.init(recordID: CKRecordID(recordName: wire.recordName, zoneID: zoneID), state: state)
  }

  private init(recordID: CKRecordID, state: RecordState) {
    super.init(recordType: SystemType.share, recordID: recordID, state: state)
  }

  /// Decodes an archived share.
  ///
  /// It cannot fail, as in Apple's framework. If the identifier is missing or the archive is damaged, the share has a
  /// new identifier, no participants but the owner and no URL, and saving it fails with `CKError.invalidArguments`;
  /// unarchivers throw.
  public required init(coder: NSCoder) {
    let archived = RecordState.archived(in: coder)
    var state = archived?.state ?? RecordState()
    if archived != nil { state.sharing = ShareState(coder: coder) }
    super.init(recordType: SystemType.share, recordID: archived?.id ?? CKRecordID(), state: state)
  }

  /// Whether it was not made from a damaged archive.
  var isReadable: Bool { state.withLock { $0.sharing != nil } }

  /// Archives the data that is needed to save a later version of this share, including participants and URL.
  open override func encodeSystemFields(with coder: NSCoder) {
    super.encodeSystemFields(with: coder)
    sharing.encode(with: coder)
  }

  override func instance(holding state: RecordState) -> CKRecord {
    var state = state
    state.sharing = state.sharing?.copied()
    return CKShare(recordID: recordID, state: state)
  }

  // MARK: - Participants

  /// The sharing state. Every share has one, unless it was made from a damaged archive.
  private var sharing: ShareState { state.withLock { $0.sharing } ?? ShareState(rootRecordName: nil) }

  /// The permission of everybody who knows the URL; none by default.
  ///
  /// When the permission changes from none to another, the server removes invited people who have not accepted. When it
  /// changes back to none, the server removes all participants except the owner.
  open var publicPermission: ParticipantPermission {
    get { sharing.publicPermission }
    set { state.withLock { $0.sharing?.publicPermission = newValue } }
  }

  /// The participants and invited people, including the owner, as far as the current user may see them.
  open var participants: [CKShareParticipant] { sharing.participants }

  /// The owner of the shared records.
  open var owner: CKShareParticipant {
    participants.first { $0.role == .owner }
      ?? CKShareParticipant(standingInForOwner: recordID.zoneID.ownerName)
  }

  /// The current user as a participant; nil if the server does not return it.
  open var currentUserParticipant: CKShareParticipant? { sharing.currentUser }

  /// Adds a participant, who is invited with the next save. An existing participant gets the new participant's
  /// permission and role instead.
  open func addParticipant(_ participant: CKShareParticipant) {
    state.withLock { $0.sharing?.add(participant) }
  }

  /// Removes a participant with the next save. The owner cannot be removed; a person who is not a participant is
  /// ignored.
  open func removeParticipant(_ participant: CKShareParticipant) {
    state.withLock { $0.sharing?.remove(participant) }
  }

  /// The URL to send to invited people; nil before the share is saved. It stays the same for the same root.
  open var url: URL? {
    guard let shortGUID = sharing.shortGUID else { return nil }
    var components = URLComponents(string: "https://www.icloud.com/share")
    components?.path += "/\(shortGUID)"
    if let title = self[SystemFieldKey.title] as? String, !title.isEmpty { components?.fragment = title }
    return components?.url
  }
}

extension URL {
  /// The short GUID of a share URL: the path component after `share` (reference 5.4).
  var shareGUID: String? {
    let parts = path().split(separator: "/")
    guard let index = parts.firstIndex(of: "share"), index + 1 < parts.count else { return nil }
    return String(parts[index + 1]).removingPercentEncoding
  }
}
