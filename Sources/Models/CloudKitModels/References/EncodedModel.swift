package import CloudKit
internal import Foundation

/// A model as a record.
package struct EncodedModel: Sendable {
  /// A reference in a field.
  package struct Reference: Sendable, Hashable {
    /// The name of the field.
    package let key: String
    /// The ID of the record that it refers to.
    package let target: CKRecord.ID
  }

  /// The record with all fields of the model, set or cleared.
  package let record: CKRecord
  /// The database that its type declares.
  package let database: DeclaredDatabase
  /// Whether the model's archive decided the zone.
  package let isArchived: Bool
  /// Whether the model decides the parent, also by having none.
  let decidesParent: Bool
  /// The references to other models and links, in the order of the fields.
  package let references: [Reference]
  /// The fields whose references are added to those of the record that is written to.
  package let adding: Set<String>
  /// The server's record to write it onto, if it was read.
  var base: CKRecord?

  /// Whether the model knows the version of the record that it was read from.
  var knowsVersion: Bool { record.recordChangeTag != nil }

  /// Copies every field, and the parent, if they differ.
  package func write(onto other: CKRecord) {
    for key in record.changedKeys() {
      let value = adding.contains(key) ? other.references(key, adding: record[key]) : record[key]
      if !FieldContent.isSame(value, other[key]) { other[key] = value }
    }
    if decidesParent { other.parent = record.parent }
  }

  /// Copies what an edit has changed since the original.
  package func write(onto other: CKRecord, changedFrom original: EncodedModel) {
    for key in Set(original.record.changedKeys()).union(record.changedKeys())
    where !FieldContent.isSame(original.record[key], record[key]) {
      let isAdding = adding.contains(key) || original.adding.contains(key)
      other[key] =
        isAdding ? other.references(key, adding: record[key], removing: original.record[key]) : record[key]
    }
    if decidesParent, record.parent != original.record.parent { other.parent = record.parent }
  }

  /// Returns the same model without some fields, which are then left alone.
  func omitting(_ keys: Set<String>) -> EncodedModel {
    guard !keys.isEmpty else { return self }
    let copy = CKRecord(recordType: record.recordType, recordID: record.recordID)
    let stored = record.storedFields
    copy.set(record.changedKeys().filter { !keys.contains($0) }.map { (key: $0, field: stored[$0]) })
    if decidesParent { copy.parent = record.parent }
    return EncodedModel(
      record: copy,
      database: database,
      isArchived: isArchived,
      decidesParent: decidesParent,
      references: references.filter { !keys.contains($0.key) },
      adding: adding
    )
  }

  /// Refuses references to records of other zones.
  ///
  /// - Parameter zoneID: The zone in which the record is saved; nil for that of the record. Both are accepted.
  package func checkZones(in zoneID: CKRecordZone.ID? = nil) throws(CKModelError) {
    let own = record.recordID.zoneID
    for reference in references where ![own, zoneID ?? own].contains(reference.target.zoneID) {
      throw CKModelError(
        record.recordType,
        field: reference.key,
        """
        It refers to a record in the zone \(reference.target.zoneID.zoneName), but the record is in the zone \
        \((zoneID ?? own).zoneName).
        """,
        .otherZone
      )
    }
  }
}

extension CKRecord {
  /// Returns the references of a field without those that an edit has removed, followed by the new ones. The zone is
  /// the same for all, so their names are compared.
  fileprivate func references(
    _ key: String,
    adding new: (any CKRecordValue)?,
    removing old: (any CKRecordValue)? = nil
  ) -> (any CKRecordValue)? {
    let (kept, new, old) = (self[key].references, new.references ?? [], old.references ?? [])
    guard let kept else { return new.isEmpty ? nil : NSArray(array: new) }
    let removed = Set(old.map(\.recordID.recordName)).subtracting(new.map(\.recordID.recordName))
    var names = removed
    let merged = (kept + new).filter { names.insert($0.recordID.recordName).inserted }
    return merged.isEmpty ? nil : NSArray(array: merged)
  }
}

extension (any CKRecordValue)? {
  /// The references in a list; nil for any other value.
  fileprivate var references: [CKReference]? {
    guard let list = self as? NSArray else { return nil }
    let references = list.compactMap { $0 as? CKReference }
    return references.count == list.count ? references : nil
  }
}
