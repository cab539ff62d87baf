public import Foundation
internal import Synchronization

/// A record: named fields with values, an identifier, and the server's metadata.
///
/// A record is a class, as in Apple's framework: a save updates the saved instance. Edits are tracked by key, so that a
/// save sends only the changes. Setting nil also clears a field on the server.
///
/// A subclass, for example in tests, can override the system values. A save uses the values of the underlying record.
///
/// `@unchecked Sendable`: all mutable state is behind one lock, and the values it returns are immutable.
open class CKRecord: NSObject, CKArchivable, NSCopying, @unchecked Sendable {
  /// A record's identifier.
  public typealias ID = CKRecordID
  /// A reference to another record.
  public typealias Reference = CKReference
  /// The effect on a record when the target of its reference is deleted.
  public typealias ReferenceAction = CKReferenceAction
  /// The name of a record type.
  public typealias RecordType = String
  /// The name of a field.
  public typealias FieldKey = String

  private let type: RecordType
  private let identity: CKRecordID
  let state: Mutex<RecordState>

  /// Makes a new record with a random name in the default zone. It is not on the server until it is saved.
  public init(recordType: RecordType) {
    type = recordType
    identity = CKRecordID()
    state = Mutex(RecordState())
  }

  /// Makes a new record with a random name in a zone.
  public convenience init(recordType: RecordType, zoneID: CKRecordZoneID) {
    self.init(recordType: recordType, recordID: CKRecordID(zoneID: zoneID))
  }

  /// Makes a new record with an identifier.
  public init(recordType: RecordType, recordID: CKRecordID) {
    type = recordType
    identity = recordID
    state = Mutex(RecordState())
  }

  init(recordType: RecordType, recordID: CKRecordID, state: RecordState) {
    type = recordType
    identity = recordID
    self.state = Mutex(state)
  }

  /// Reads an archived record: a complete one, or only the system fields. Nil if the type or the identifier is missing,
  /// or the archive is damaged.
  public required init?(coder: NSCoder) {
    guard let archived = RecordState.archived(in: coder) else { return nil }
    (type, identity) = (archived.type, archived.id)
    state = Mutex(archived.state)
  }

  /// Archives the complete record, including edits.
  open func encode(with coder: NSCoder) {
    encodeSystemFields(with: coder)
    state.withLock { $0 }.encodeFields(with: coder)
  }

  /// Archives the system fields needed to save a later version of this record: identifier, type, change tag, dates,
  /// users, parent and share.
  ///
  /// Store it with your own model. `init(coder:)` makes a record without fields from it.
  ///
  /// The same system fields always give the same bytes. For that, a keyed archiver's `outputFormat` becomes `.xml`:
  /// Foundation on Linux writes binary property lists in an order that changes.
  open func encodeSystemFields(with coder: NSCoder) {
    (coder as? NSKeyedArchiver)?.outputFormat = .xml
    coder.encode(NSString(string: recordType), forKey: RecordState.ArchiveKey.recordType)
    coder.encode(recordID, forKey: RecordState.ArchiveKey.recordID)
    state.withLock { $0 }.encodeSystemFields(with: coder)
  }

  /// Returns an independent record with the same fields, edits and system values.
  open func copy(with zone: NSZone? = nil) -> Any {
    instance(holding: state.withLock { $0 })
  }

  /// Returns a record with another state and the same type and identifier. Subclasses return their own class.
  func instance(holding state: RecordState) -> CKRecord {
    CKRecord(recordType: recordType, recordID: recordID, state: state)
  }

  /// The type, name, zone and field names; never field values, which are private to the user.
  public override var description: String {
    "<CKRecord \(recordType) \(recordID.recordName) in \(recordID.zoneID.zoneName), fields: \(allKeys())>"
  }

  // MARK: - System values

  /// The record's type, which never changes.
  open var recordType: RecordType { type }
  /// The record's identifier, which never changes.
  open var recordID: CKRecordID { identity }
  /// The version of the record on the server, which changes with every save. Nil for a record that was never saved.
  open var recordChangeTag: String? { state.withLock { $0.changeTag } }
  /// The date of the record's first save on the server.
  open var creationDate: Date? { state.withLock { $0.created?.date } }
  /// The date of the record's last save on the server.
  open var modificationDate: Date? { state.withLock { $0.modified?.date } }
  /// The user who created the record.
  open var creatorUserRecordID: CKRecordID? { state.withLock { $0.created?.userRecordID } }
  /// The user who last saved the record.
  open var lastModifiedUserRecordID: CKRecordID? { state.withLock { $0.modified?.userRecordID } }
  /// The share whose root is this record; nil if it is not the root of a share.
  open var share: CKReference? { state.withLock { $0.share } }

  /// The parent record in a shared hierarchy, in the same zone. Its action is always `none`. Setting nil removes the
  /// record from its parent with the next save.
  open var parent: CKReference? {
    get { state.withLock { $0.parent } }
    set {
      state.withLock { state in
        // Setting the same parent is not a change: apps set it, or nil, before every save.
        guard newValue?.recordID != state.parent?.recordID else { return }
        state.parent = newValue.map { CKReference(recordID: $0.recordID, action: .none) }
        state.parentChanged = true
      }
    }
  }
}

extension CKRecord {
  /// Sets the parent record, or removes it if nil.
  public func setParent(_ parentRecord: CKRecord?) { setParent(parentRecord?.recordID) }

  /// Sets the parent record, or removes it if nil.
  public func setParent(_ parentRecordID: CKRecordID?) {
    parent = parentRecordID.map { CKReference(recordID: $0, action: .none) }
  }

  /// The names of system fields, for predicates and sort descriptors.
  public enum SystemFieldKey {
    /// The record's name.
    public static let recordID = "recordID"
    /// The parent record in a shared hierarchy.
    public static let parent = "parent"
    /// The share.
    public static let share = "share"
    /// The user who created the record.
    public static let creatorUserRecordID = "creatorUserRecordID"
    /// The date when the record was created.
    public static let creationDate = "creationDate"
    /// The user who last saved the record.
    public static let lastModifiedUserRecordID = "lastModifiedUserRecordID"
    /// The date when the record was last saved.
    public static let modificationDate = "modificationDate"
  }

  /// The record types that every container has.
  public enum SystemType {
    /// The type of user records, one for each user. They cannot be queried.
    public static let userRecord = "Users"
    /// The type of shares.
    public static let share = WireRecord.shareType
  }
}
