internal import Foundation
import JSONText

extension RecordState {
  /// The archive keys, with Apple's names where Apple has one.
  enum ArchiveKey {
    static let recordType = "RecordType"
    static let recordID = "RecordID"
    static let changeTag = "ETag"
    static let created = "RecordCtime"
    static let modified = "RecordMtime"
    static let creator = "CreatorUserRecordID"
    static let modifier = "LastModifiedUserRecordID"
    static let parent = "ParentReference"
    static let parentChanged = "ParentChanged"
    static let share = "ShareReference"
    static let wireFields = "WireFields"
    static let editedKeys = "EditedKeys"
    static let editedField = "EditedField."
    static let encryptedKeys = "EncryptedKeys"
    static let ancestor = "AncestorFields"
    static let changedKeys = "ChangedKeys"
    static let assetFiles = "AssetFiles"
    /// Keys of Apple's archives, which are read but never written.
    static let valueStore = "ValueStore"
    static let earlyValues = "RecordValues"
    static let originalValues = "OriginalValues"
    static let hasUpdatedParent = "HasUpdatedParentReference"

    /// The keys of a record's objects, except those of edited fields.
    private static let objects: Set<String> = [
      recordType, recordID, changeTag, created, modified, creator, modifier, parent, share, wireFields, editedKeys,
      encryptedKeys, ancestor, changedKeys, assetFiles, valueStore, earlyValues, originalValues,
    ]

    /// Whether a record or a share decodes the object of a key.
    static func isOwn(_ key: String) -> Bool {
      objects.contains(key) || key.hasPrefix(editedField) || ShareState.ArchiveKey(rawValue: key) != nil
    }
  }

  func encodeSystemFields(with coder: NSCoder) {
    func encode(_ object: NSObject?, _ key: String) {
      if let object { coder.encode(object, forKey: key) }
    }
    encode(changeTag.map(NSString.init(string:)), ArchiveKey.changeTag)
    encode(created.map { Milliseconds.nsDate($0.timestamp) }, ArchiveKey.created)
    encode(modified.map { Milliseconds.nsDate($0.timestamp) }, ArchiveKey.modified)
    encode(created?.userRecordID, ArchiveKey.creator)
    encode(modified?.userRecordID, ArchiveKey.modifier)
    encode(parent, ArchiveKey.parent)
    encode(share, ArchiveKey.share)
    if parentChanged { coder.encode(true, forKey: ArchiveKey.parentChanged) }
  }

  /// Archives the fields. Unedited fields are archived in their wire encoding, which loses nothing. Edited fields are
  /// archived as objects, each with its own key, because a damaged dictionary terminates the process.
  func encodeFields(with coder: NSCoder) {
    let edited = fields.filter { $0.value.wire == nil || $0.value.isMorePrecise }.mapValues(\.object)
    for (key, object) in edited { coder.encode(object, forKey: ArchiveKey.editedField + key) }
    if !edited.isEmpty { coder.encode(wire: edited.keys.sorted(), forKey: ArchiveKey.editedKeys) }
    let encrypted = edited.keys.filter { fields[$0]?.isEncrypted == true }.sorted()
    if !encrypted.isEmpty { coder.encode(wire: encrypted, forKey: ArchiveKey.encryptedKeys) }
    coder.encode(wire: fields.filter { edited[$0.key] == nil }.compactMapValues(\.wire), forKey: ArchiveKey.wireFields)
    if let ancestor { coder.encode(wire: ancestor.compactMapValues(\.wire), forKey: ArchiveKey.ancestor) }
    let files = fields.filter { $0.value.wire?.assets != nil }.mapValues { field in
      JSON.array(field.assets.map { $0.localFile.map { .string($0.path) } ?? .null })
    }
    if !files.isEmpty { coder.encode(wire: files, forKey: ArchiveKey.assetFiles) }
    if !changedKeys.isEmpty {
      coder.encode(wire: changedKeys.sorted(), forKey: ArchiveKey.changedKeys)
    }
  }

  /// Reads a record's type, identifier and state; nil if the type or the identifier is missing, or the archive is
  /// damaged.
  static func archived(in coder: NSCoder) -> (type: String, id: CKRecordID, state: RecordState)? {
    guard (try? coder.returnErrors(of: ArchiveKey.isOwn)) != nil,
      let type = coder.string(forKey: ArchiveKey.recordType),
      let id = coder.object(CKRecordID.self, forKey: ArchiveKey.recordID)
    else { return nil }
    let state = RecordState(coder: coder, zoneID: id.zoneID)
    state.noteOrigins(recordName: id.recordName, zoneID: id.zoneID)
    return (type, id, state)
  }

  private init(coder: NSCoder, zoneID: CKRecordZoneID) {
    changeTag = coder.string(forKey: ArchiveKey.changeTag)
    created = Self.stamp(coder, ArchiveKey.created, ArchiveKey.creator)
    modified = Self.stamp(coder, ArchiveKey.modified, ArchiveKey.modifier)
    parent = coder.object(CKReference.self, forKey: ArchiveKey.parent)
    parentChanged =
      coder.containsValue(forKey: ArchiveKey.parentChanged) || coder.decodeBool(forKey: ArchiveKey.hasUpdatedParent)
    share = coder.object(CKReference.self, forKey: ArchiveKey.share)
    let wireFields = coder.wire([String: FieldValue].self, forKey: ArchiveKey.wireFields)
    fields = wireFields?.mapValues { StoredField(wire: $0, zoneID: zoneID) } ?? [:]
    for (key, paths) in coder.wire([String: JSON].self, forKey: ArchiveKey.assetFiles) ?? [:] {
      for (asset, path) in zip(fields[key]?.assets ?? [], paths.array ?? []) { path.string.map(asset.restore) }
    }
    let encrypted = Set(coder.wire([String].self, forKey: ArchiveKey.encryptedKeys) ?? [])
    for key in coder.wire([String].self, forKey: ArchiveKey.editedKeys) ?? [] {
      let object = coder.fieldObject(forKey: ArchiveKey.editedField + key)
      fields[key] = object.flatMap { StoredField(archived: $0, isEncrypted: encrypted.contains(key)) }
    }
    let ancestorFields = coder.wire([String: FieldValue].self, forKey: ArchiveKey.ancestor)
    ancestor = ancestorFields?.mapValues { StoredField(wire: $0, zoneID: zoneID) }
    changedKeys = Set(coder.wire([String].self, forKey: ArchiveKey.changedKeys) ?? [])
    if let store = coder.object(CKRecordValueStore.self, forKey: ArchiveKey.valueStore) {
      take(store)
    } else if coder.containsValue(forKey: ArchiveKey.earlyValues), let store = CKRecordValueStore(coder: coder) {
      take(store)
    }
  }

  /// Takes the fields from one of Apple's archives.
  private mutating func take(_ store: CKRecordValueStore) {
    fields = store.values
    changedKeys = store.changedKeys
    guard changeTag != nil else { return }
    ancestor = store.values.filter { !store.changedKeys.contains($0.key) }.merging(store.originals) { $1 }
  }

  private static func stamp(_ coder: NSCoder, _ date: String, _ user: String) -> WireStamp? {
    guard
      let date = coder.object(NSDate.self, forKey: date),
      let timestamp = Milliseconds.since1970(reference: date.timeIntervalSinceReferenceDate)
    else { return nil }
    return WireStamp(timestamp: timestamp, userRecordName: coder.object(CKRecordID.self, forKey: user)?.recordName)
  }
}
