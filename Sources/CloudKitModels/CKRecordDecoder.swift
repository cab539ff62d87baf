public import CloudKit

/// Turns records into models.
///
/// ```swift
/// let record = try await database.record(for: recordID)
/// let note = try CKRecordDecoder().decode(Note.self, from: record)
/// ```
///
/// It reads what `CKRecordEncoder` writes; see there for the types. Fields that the model does not know are skipped.
/// A field that is missing or does not fit throws `DecodingError` with the field in its coding path.
/// A value of this type can be used by any number of tasks at once.
public struct CKRecordDecoder: Sendable {
  /// Makes a decoder.
  public init() {}

  /// The model that a record holds.
  ///
  /// - Throws: `DecodingError`, also where the model that was read names another record: saving it would make a duplicate.
  public func decode<Model: CKRecordModel & Decodable>(_ type: Model.Type, from record: CKRecord) throws -> Model {
    guard record.recordType == Model.recordType else {
      let reason = "The record is a \(record.recordType), the model a \(Model.recordType)."
      throw DecodingError.typeMismatch(type, .init(codingPath: [], debugDescription: reason))
    }
    let model = try Model(from: ModelDecoder(record: record, recordNameKey: Model.recordNameKey))
    guard model.recordName == record.recordID.recordName else {
      let reason = "The model does not keep the record's name. An identity of type String keeps any name."
      let path = [FieldKey(Model.recordNameKey)]
      throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: reason))
    }
    return model
  }
}
