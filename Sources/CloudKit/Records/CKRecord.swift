public import Foundation
internal import Synchronization

/// One record: named fields with values, an identity, and what the server keeps about it.
///
/// A record is a class, as Apple's is: a save brings the instance that was saved up to date. Edits are noted key by key,
/// so that a save sends what changed and nothing else; setting nil clears a field on the server too.
///
/// A subclass, as tests make them, can stand its own system values in; a save sends those of the record that it is below.
///
/// `@unchecked Sendable`: everything that changes lies behind one lock, and what is handed out of it is immutable.
open class CKRecord: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
  /// A record's identity.
  public typealias ID = CKRecordID
  /// A pointer to another record.
  public typealias Reference = CKReference
  /// What the deletion of a reference's target does.
  public typealias ReferenceAction = CKReferenceAction
  /// The name of a record type.
  public typealias RecordType = String
  /// The name of a field.
  public typealias FieldKey = String

  private let type: RecordType
  private let identity: CKRecordID
  let state: Mutex<RecordState>

  /// Makes a new record. Nothing is on the server before it is saved.
  public init(recordType: RecordType) {
    type = recordType
    identity = CKRecordID()
    state = Mutex(RecordState())
  }

  /// Makes a new record with a random name in a zone.
  public convenience init(recordType: RecordType, zoneID: CKRecordZoneID) {
    self.init(recordType: recordType, recordID: CKRecordID(zoneID: zoneID))
  }

  /// Makes a new record under a name of its own.
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

  /// Reads an archived record: a whole one, or the system fields alone. Nil where its type or identity is missing.
  public required init?(coder: NSCoder) {
    (coder as? NSKeyedUnarchiver)?.returnErrors()
    guard
      let recordType = coder.string(forKey: RecordState.ArchiveKey.recordType),
      let recordID = coder.object(CKRecordID.self, forKey: RecordState.ArchiveKey.recordID)
    else { return nil }
    type = recordType
    identity = recordID
    let state = RecordState(coder: coder, zoneID: recordID.zoneID)
    state.noteOrigins(recordName: recordID.recordName, zoneID: recordID.zoneID)
    self.state = Mutex(state)
  }

  /// Archives the whole record, edits included.
  open func encode(with coder: NSCoder) {
    encodeSystemFields(with: coder)
    state.withLock { $0 }.encodeFields(with: coder)
  }

  /// Archives what is needed to save a later version of this record: identity, type, change tag, dates, users, parent.
  ///
  /// Keep it beside a model of your own. `init(coder:)` makes a record without fields of it.
  open func encodeSystemFields(with coder: NSCoder) {
    coder.encode(NSString(string: recordType), forKey: RecordState.ArchiveKey.recordType)
    coder.encode(recordID, forKey: RecordState.ArchiveKey.recordID)
    state.withLock { $0 }.encodeSystemFields(with: coder)
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }

  /// A record of its own with the same fields, edits and system values.
  open func copy(with zone: NSZone? = nil) -> Any {
    instance(holding: state.withLock { $0 })
  }

  /// A record of the same class and identity.
  func instance(holding state: RecordState) -> CKRecord {
    CKRecord(recordType: recordType, recordID: recordID, state: state)
  }

  /// Type, name, zone and the names of the fields; never their values, which are private to the user.
  public override var description: String {
    "<CKRecord \(recordType) \(recordID.recordName) in \(recordID.zoneID.zoneName), fields: \(allKeys())>"
  }

  // MARK: - System values

  /// The record's type, which never changes.
  open var recordType: RecordType { type }
  /// The record's identity, which never changes.
  open var recordID: CKRecordID { identity }
  /// Which version this is: changes with every save on the server. Nil for a record that was never saved.
  open var recordChangeTag: String? { state.withLock { $0.changeTag } }
  /// When the server first saved the record.
  open var creationDate: Date? { state.withLock { $0.created?.date } }
  /// When the server last saved the record.
  open var modificationDate: Date? { state.withLock { $0.modified?.date } }
  /// Who created the record.
  open var creatorUserRecordID: CKRecordID? { state.withLock { $0.created?.userRecordID } }
  /// Who saved the record last.
  open var lastModifiedUserRecordID: CKRecordID? { state.withLock { $0.modified?.userRecordID } }
  /// The share of the hierarchy that this record is the root of.
  open var share: CKReference? { state.withLock { $0.share } }

  /// The record that this one belongs to when it is shared; in the same zone. Its action is always `none`. Setting nil takes
  /// the record out from under its parent with the next save.
  open var parent: CKReference? {
    get { state.withLock { $0.parent } }
    set {
      state.withLock { state in
        // The same again is no change: apps set it, or nil, before every save.
        guard newValue?.recordID != state.parent?.recordID else { return }
        state.parent = newValue.map { CKReference(recordID: $0.recordID, action: .none) }
        state.parentChanged = true
      }
    }
  }
}

extension CKRecord {
  /// Puts this record under another one, or under none.
  public func setParent(_ parentRecord: CKRecord?) { setParent(parentRecord?.recordID) }

  /// Puts this record under another one, or under none.
  public func setParent(_ parentRecordID: CKRecordID?) {
    parent = parentRecordID.map { CKReference(recordID: $0, action: .none) }
  }

  /// Names of fields that the system keeps, as predicates and sort descriptors use them.
  public enum SystemFieldKey {
    /// The record's name.
    public static let recordID = "recordID"
    /// The parent in a shared hierarchy.
    public static let parent = "parent"
    /// The share.
    public static let share = "share"
    /// Who created the record.
    public static let creatorUserRecordID = "creatorUserRecordID"
    /// When the record was created.
    public static let creationDate = "creationDate"
    /// Who saved the record last.
    public static let lastModifiedUserRecordID = "lastModifiedUserRecordID"
    /// When the record was saved last.
    public static let modificationDate = "modificationDate"
  }

  /// Record types that every container has.
  public enum SystemType {
    /// One record for each user; cannot be queried.
    public static let userRecord = "Users"
    /// A share.
    public static let share = "cloudkit.share"
  }
}
