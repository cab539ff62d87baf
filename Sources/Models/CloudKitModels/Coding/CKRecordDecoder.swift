public import CloudKit

/// Decodes models from records.
///
/// ```swift
/// let record = try await database.record(for: recordID)
/// let note = try CKRecordDecoder().decode(Note.self, from: record)
/// ```
///
/// It reads what `CKRecordEncoder` writes; see there for the supported types. Fields that the model does not declare
/// are ignored. A decoder can be used by several tasks at the same time.
///
/// `Data`, nested values and file URLs can be decoded from an asset only after its `download()`. A decoded file URL is
/// removed soon after the record is released: copy or move a file that you want to keep at once. A `CKAsset` property
/// needs no download.
public struct CKRecordDecoder: Sendable {
  /// Creates a decoder.
  public init() {}

  /// Returns the model stored in a record.
  ///
  /// - Throws: `CKModelError` if a field is missing or does not match, or the decoded model has another record name,
  ///   because saving it would create a duplicate.
  public func decode<Model: CKRecordModel & Decodable>(
    _ type: Model.Type,
    from record: CKRecord
  ) throws(CKModelError) -> Model { try decode(type, from: record, references: nil) }

  /// Returns the model stored in a record, with the loaded targets of its references.
  func decode<Model: CKRecordModel & Decodable>(
    _ type: Model.Type,
    from record: CKRecord,
    references: LinkResolver?
  ) throws(CKModelError) -> Model {
    do {
      return try model(type, from: record, references)
    } catch let error as CKModelError {
      // The error of a target names its own model and field.
      throw error
    } catch {
      var error = CKModelError(type, decoding: error)
      error.recordID = record.recordID
      throw error
    }
  }

  private func model<Model: CKRecordModel & Decodable>(
    _ type: Model.Type,
    from record: CKRecord,
    _ references: LinkResolver?
  ) throws -> Model {
    guard record.recordType == Model.recordType else {
      let reason = "The record has type \(record.recordType), but the model has type \(Model.recordType)."
      throw DecodingError.typeMismatch(type, .init([], ConversionFailure(reason: reason)))
    }
    let decoder = ModelDecoder(record, for: type, references: references)
    let model = try Model(from: decoder)
    try decoder.checkDeclaredKeys(of: model)
    guard model.recordName == record.recordID.recordName else {
      let reason =
        "The model does not preserve the record name. A String identity preserves any name."
      let path = [FieldCodingKey(Model.recordNameKey)]
      throw DecodingError.dataCorrupted(.init(path, ConversionFailure(reason: reason)))
    }
    return model
  }
}
