public import Foundation
internal import Synchronization

/// The name of the record type that shares have.
public let CKRecordTypeShare = CKRecord.SystemType.share
/// The name of the one record that shares a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"
/// The same as `CKShare.SystemFieldKey.title`.
public let CKShareTitleKey = CKShare.SystemFieldKey.title
/// The same as `CKShare.SystemFieldKey.thumbnailImageData`.
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
/// The same as `CKShare.SystemFieldKey.shareType`.
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

/// Who may see and change a record with all that lies under it, or a whole zone, besides their owner.
///
/// Save a new share in the same call as its root record; then it has a `url` to be handed to those who are invited:
///
/// ```swift
/// let share = CKShare(rootRecord: list)
/// share[CKShare.SystemFieldKey.title] = "Groceries"
/// try await container.privateCloudDatabase.modifyRecords(saving: [list, share], deleting: [])
/// ```
///
/// Sharing needs a zone of the user's own. Deleting the share ends the sharing; one who takes part leaves by deleting it
/// from their shared database.
///
/// `@unchecked Sendable`, as its superclass is and for its reason: it adds no storage.
open class CKShare: CKRecord, @unchecked Sendable {
  /// Names of fields that every share may have.
  public enum SystemFieldKey {
    /// What the invited read; text.
    public static let title = "cloudkit.title"
    /// What kind of thing is shared, as a type identifier; text.
    public static let shareType = "cloudkit.type"
    /// A small picture of it; data.
    public static let thumbnailImageData = "cloudkit.thumbnailImageData"
  }

  /// Makes a share of a record and of all that has it as an ancestor. The record's `share` points to it at once.
  public init(rootRecord: CKRecord) {
    let id = CKRecordID(recordName: "Share-\(UUID().uuidString)", zoneID: rootRecord.recordID.zoneID)
    super.init(recordType: SystemType.share, recordID: id, state: Self.state(root: rootRecord.recordID))
    rootRecord.state.withLock { $0.share = CKReference(recordID: id, action: .none) }
  }

  /// Makes a share of a record under a name of its own, in the record's zone.
  public init(rootRecord: CKRecord, shareID: CKRecordID) {
    super.init(recordType: SystemType.share, recordID: shareID, state: Self.state(root: rootRecord.recordID))
    rootRecord.state.withLock { $0.share = CKReference(recordID: shareID, action: .none) }
  }

  /// Makes a share of everything in a zone.
  public init(recordZoneID: CKRecordZoneID) {
    let id = CKRecordID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID)
    super.init(recordType: SystemType.share, recordID: id, state: Self.state(root: nil))
  }

  /// What a new share begins with.
  private static func state(root: CKRecordID?) -> RecordState {
    var state = RecordState()
    state.sharing = ShareState(rootRecordName: root?.recordName)
    return state
  }

  /// The share that an answer holds.
  convenience init(received wire: WireRecord, zoneID: CKRecordZoneID) {
    var state = RecordState(wire: wire, zoneID: zoneID)
    state.sharing = ShareState(wire: wire)
    self.init(recordID: CKRecordID(recordName: wire.recordName, zoneID: zoneID), state: state)
  }

  private init(recordID: CKRecordID, state: RecordState) {
    super.init(recordType: SystemType.share, recordID: recordID, state: state)
  }

  /// Reads an archived share; nil where its identity is missing.
  public required init?(coder: NSCoder) {
    super.init(coder: coder)
    state.withLock { $0.sharing = ShareState(coder: coder) }
  }

  /// Archives what is needed to save a later version of this share, participants and URL included.
  open override func encodeSystemFields(with coder: NSCoder) {
    super.encodeSystemFields(with: coder)
    sharing.encode(with: coder)
  }

  override func instance(holding state: RecordState) -> CKRecord {
    var state = state
    state.sharing = state.sharing?.copied()
    return CKShare(recordID: recordID, state: state)
  }

  // MARK: - Who takes part

  /// A share has its state from the beginning.
  private var sharing: ShareState { state.withLock { $0.sharing } ?? ShareState(rootRecordName: nil) }

  /// What everybody who knows the URL may do; nothing unless set.
  ///
  /// The server takes those out who were invited and have not answered when this becomes more than nothing, and all but
  /// the owner when it becomes nothing again.
  open var publicPermission: ParticipantPermission {
    get { sharing.publicPermission }
    set { state.withLock { $0.sharing?.publicPermission = newValue } }
  }

  /// Everybody who takes part or is invited, as far as the current user may know; the owner is one of them.
  open var participants: [CKShareParticipant] { sharing.participants }

  /// The one whose records they are.
  open var owner: CKShareParticipant {
    participants.first { $0.role == .owner }
      ?? CKShareParticipant(standingInForOwner: recordID.zoneID.ownerName)
  }

  /// The current user as one who takes part; nil where the server does not say.
  open var currentUserParticipant: CKShareParticipant? { sharing.currentUser }

  /// Invites somebody with the next save. One who takes part already gets the permission of the new participant instead.
  open func addParticipant(_ participant: CKShareParticipant) {
    state.withLock { $0.sharing?.add(participant) }
  }

  /// Takes somebody out with the next save. The owner stays, and whoever does not take part is no error.
  open func removeParticipant(_ participant: CKShareParticipant) {
    state.withLock { $0.sharing?.remove(participant) }
  }

  /// What is handed to the invited; nil before the share is saved. It stays the same for the same root.
  open var url: URL? {
    guard let shortGUID = sharing.shortGUID else { return nil }
    var components = URLComponents(string: "https://www.icloud.com/share")
    components?.path += "/\(shortGUID)"
    if let title = self[SystemFieldKey.title] as? String, !title.isEmpty { components?.fragment = title }
    return components?.url
  }
}

extension URL {
  /// What names the share in a URL: the part of its path after `share` (reference 5.4).
  var shareGUID: String? {
    let parts = path().split(separator: "/")
    guard let index = parts.firstIndex(of: "share"), index + 1 < parts.count else { return nil }
    return String(parts[index + 1]).removingPercentEncoding
  }
}
