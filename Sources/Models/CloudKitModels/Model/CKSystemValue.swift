/// A system value of a record that a model can have as a property; see ``CKRecordModel/systemKeys``.
///
/// All are read from the record. Only a parent is also written. With a change tag or an archive, saving the model to a
/// database updates the record as it was read: if the record has changed on the server since, the save fails with
/// `CKError.serverRecordChanged`. The durable queue does not compare this version: it sends the fields that differ from
/// the local copy. To send only your edits, pass the original model.
public enum CKSystemValue: String, Sendable, Hashable, CaseIterable {
  /// The time at which the server created the record; a `Date?`.
  case creationDate
  /// The time of the last change on the server; a `Date?`.
  case modificationDate
  /// The record name of the user who created the record; a `String?`.
  case creatorUserRecordName
  /// The record name of the user who changed the record last; a `String?`.
  case lastModifiedUserRecordName
  /// The version of the record on the server; a `String?`.
  case changeTag
  /// The parent; a `CKRecord.Reference?`. Nil removes it.
  case parent
  /// The share of the record's hierarchy; a `CKRecord.Reference?`.
  case share
  /// All system fields as `CKRecord.encodeSystemFields(with:)` writes them; a `Data?`.
  case archive
}
