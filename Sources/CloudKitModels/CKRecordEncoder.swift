public import CloudKit
internal import Foundation

/// Turns models into records.
///
/// ```swift
/// let encoder = CKRecordEncoder(zoneID: notesZone.zoneID)
/// try await database.save(encoder.encode(note))
///
/// // Later: what differs is set, what is nil is cleared, and fields of other apps and versions stay as they are.
/// let record = try await database.record(for: recordID)
/// try encoder.encode(editedNote, onto: record)
/// try await database.save(record)
/// ```
///
/// | A property of type | is in the record |
/// |---|---|
/// | `String`, `Date`, `Data` | the same; dates lose what lies below a millisecond |
/// | `Bool`, every integer | INT64; `Bool` is 0 or 1 |
/// | `Double`, `Float` | DOUBLE |
/// | `URL`, `UUID` | STRING; a file URL is refused |
/// | `CKRecord.Reference` | REFERENCE |
/// | an enum with a raw value, a wrapper that codes as one value | that value |
/// | an array or set of these | a list; an empty one is no value and reads as empty, or as nil if optional |
/// | any other `Codable` | BYTES with JSON, keys sorted |
/// | nil | no value |
///
/// What a record cannot hold throws `EncodingError` with the field in its coding path, and leaves the record untouched.
/// A value of this type can be used by any number of tasks at once.
public struct CKRecordEncoder: Sendable {
  /// The zone that new records lie in.
  public var zoneID: CKRecordZone.ID

  /// Makes an encoder for records of one zone.
  public init(zoneID: CKRecordZone.ID = .default) { self.zoneID = zoneID }

  /// A new record with the model's fields.
  ///
  /// Fields whose property is nil count as cleared, so that they are also cleared on the server if the record turns out
  /// to be there and is overwritten.
  public func encode<Model: CKRecordModel & Encodable>(_ model: Model) throws -> CKRecord {
    let record = CKRecord(
      recordType: Model.recordType,
      recordID: CKRecord.ID(recordName: model.recordName, zoneID: zoneID)
    )
    guard !model.recordName.isEmpty else { throw Self.refusal(of: model, "The model's recordName is empty.") }
    for (key, value) in try ModelEncoder.fields(of: model) { record[key] = value }
    try RecordSize(of: record).check(model)
    return record
  }

  /// Brings a record up to date with the model: sets what differs, clears what is nil, leaves other fields alone.
  ///
  /// The record keeps its zone, whatever the encoder's is.
  ///
  /// - Throws: `EncodingError`, also where the record is not the model's by its type and name.
  public func encode<Model: CKRecordModel & Encodable>(_ model: Model, onto record: CKRecord) throws {
    guard record.recordType == Model.recordType else {
      throw Self.refusal(of: model, "The record is a \(record.recordType), the model a \(Model.recordType).")
    }
    guard record.recordID.recordName == model.recordName else {
      throw Self.refusal(of: model, "The record is another one than the model names.")
    }
    // Both sides of the comparison are read from a record, so both have lost what a record does not keep.
    let current = try encode(model)
    try RecordSize(of: record).replacing(with: current).check(model)
    record.adopt(current)
  }

  private static func refusal(of model: Any, _ reason: String) -> EncodingError {
    .invalidValue(model, .init(codingPath: [], debugDescription: reason))
  }
}

extension CKRecord {
  /// Takes over every field that a record made of a model sets or clears, where it differs.
  func adopt(_ fresh: CKRecord) {
    for key in fresh.changedKeys() where !FieldContent.isSame(fresh[key], self[key]) { self[key] = fresh[key] }
  }
}
