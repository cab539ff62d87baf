public import CloudKit
internal import Foundation

/// Encodes models as records.
///
/// ```swift
/// let encoder = CKRecordEncoder(zoneID: notesZone.zoneID)
/// try await database.save(encoder.encode(note))
///
/// // Later: changed values are set, nil clears a field, and fields of other apps and versions are kept.
/// let record = try await database.record(for: recordID)
/// try encoder.encode(editedNote, onto: record)
/// try await database.save(record)
/// ```
///
/// | Property type | Record field |
/// |---|---|
/// | `String`, `Date`, `Data` | the same; dates are truncated to milliseconds |
/// | `Bool`, every integer | INT64; `Bool` is 0 or 1 |
/// | `Double`, `Float` | DOUBLE |
/// | `URL`, `UUID` | STRING; a file URL is an ASSET with the file's bytes |
/// | `CKRecord.Reference`, ``Link``, another model | REFERENCE |
/// | `CLLocation` | LOCATION |
/// | `CKAsset` | ASSET |
/// | an enum with a raw value, a wrapper that encodes a single value | that value |
/// | an array or set of these | a list; an empty one has no value and is read as empty, or as nil if optional |
/// | any other `Codable` | BYTES with JSON, keys sorted |
/// | `Data` and any other `Codable` in ``CKRecordModel/assetKeys`` | ASSET with the data or JSON |
/// | nil | no value |
///
/// The type of a field is fixed with its first value, so a `URL` property should have either files or other URLs.
/// Nested values cannot contain models, assets, files, or an object that contains itself.
///
/// A reference is in the zone of its record. A property that is a model, not a ``Link``, is not cleared by nil, and a
/// list of models is only added to.
///
/// A value that a record cannot store throws `CKModelError`, and the record is not changed. An encoder can be used by
/// several tasks at the same time.
public struct CKRecordEncoder: Sendable {
  /// The zone of new records.
  public var zoneID: CKRecordZone.ID

  /// Creates an encoder for records of one zone.
  public init(zoneID: CKRecordZone.ID = .default) { self.zoneID = zoneID }

  /// Returns a record with the model's fields: a new one, or that of the model's archive or change tag, with its zone.
  ///
  /// Fields whose property is nil count as cleared, so that they are also cleared on the server if the record already
  /// exists and is overwritten.
  ///
  /// - Throws: `CKModelError` for a value that a record cannot store, or a record over 1 MB without its assets.
  public func encode<Model: CKRecordModel & Encodable>(_ model: Model) throws(CKModelError) -> CKRecord {
    let encoded = try content(of: model).model
    try encoded.checkZones()
    return encoded.record
  }

  /// Encodes a model for `write(onto:)`, and returns it with the models that it refers to.
  ///
  /// - Parameter replacing: The reference fields that are written exactly as they are in the model.
  func content<Model: CKRecordModel & Encodable>(
    of model: Model,
    replacing: Set<String> = []
  ) throws(CKModelError) -> (model: EncodedModel, targets: [ModelReferences.Target]) {
    do {
      let (encoded, targets) = try fields(of: model, replacing: replacing)
      try RecordSize.check(encoded.record.storedFields, of: model)
      return (encoded, targets)
    } catch let error as CKModelError {
      throw error
    } catch {
      throw CKModelError(Model.self, encoding: error)
    }
  }

  /// Returns the identifier of a model's record: that of its archive, or its record name in the encoder's zone.
  package func place<Model: CKRecordModel>(
    of model: Model
  ) throws(CKModelError) -> (recordID: CKRecord.ID, isArchived: Bool) {
    guard Model.systemKeys.values.contains(.archive) else {
      return (CKRecord.ID(recordName: model.recordName, zoneID: zoneID), false)
    }
    guard let encodable = model as? any CKRecordModel & Encodable else {
      throw CKModelError(Model.self, encoding: model, "Its archive can be read only if it is Encodable.")
    }
    do {
      let system = try ModelEncoder(encodable, named: encodable.recordName).system
      let record = try system.record(type: Model.recordType, name: model.recordName, zoneID: zoneID)
      return (record.recordID, system.hasArchive)
    } catch {
      throw CKModelError(Model.self, encoding: error)
    }
  }

  private func fields<Model: CKRecordModel & Encodable>(
    of model: Model,
    replacing: Set<String> = []
  ) throws -> (model: EncodedModel, targets: [ModelReferences.Target]) {
    let references = ModelReferences(of: model, self, replacing: replacing)
    let name = model.recordName
    guard !name.isEmpty else { throw Self.refusal(of: model, "The model's recordName is empty.") }
    let written = try ModelEncoder(model, named: name, references: references)
    let system = written.system
    let record = try system.record(type: Model.recordType, name: name, zoneID: zoneID)
    let place = record.recordID.zoneID
    record.set(written.fields.map { (key: $0.key, field: $0.field?.placed(in: place)) })
    if let key = replacing.subtracting(record.changedKeys()).min() {
      throw Self.refusal(of: model, "The model has no field '\(key)' to replace.")
    }
    if system.decidesParent {
      let parent = system.parent?.placed(in: place)
      // Only the tag of the version is known, not its parent.
      if system.hasOnlyTag { record.decideParent(parent) } else { record.parent = parent }
    }
    let encoded = EncodedModel(
      record: record,
      database: DeclaredDatabase(of: Model.self),
      isArchived: system.hasArchive,
      decidesParent: system.decidesParent,
      references: references.references,
      adding: references.adding
    )
    return (encoded, references.targets)
  }

  /// Updates a record with the model: sets fields that differ, clears fields that are nil, and keeps all other fields.
  ///
  /// The record keeps its zone, whatever the encoder's zone is.
  ///
  /// - Throws: `CKModelError`, also if the record's type or name differs from the model's.
  public func encode<Model: CKRecordModel & Encodable>(
    _ model: Model,
    onto record: CKRecord
  ) throws(CKModelError) {
    do {
      try update(record, with: model)
    } catch let error as CKModelError {
      throw error
    } catch {
      throw CKModelError(Model.self, encoding: error)
    }
  }

  private func update<Model: CKRecordModel & Encodable>(_ record: CKRecord, with model: Model) throws {
    guard record.recordType == Model.recordType else {
      throw Self.refusal(of: model, "The record has type \(record.recordType), the model \(Model.recordType).")
    }
    guard record.recordID.recordName == model.recordName else {
      throw Self.refusal(of: model, "The record and the model have different record names.")
    }
    // Compare two records, so that both sides have the precision that records keep.
    let current = try CKRecordEncoder(zoneID: record.recordID.zoneID).fields(of: model).model
    try current.checkZones()
    var (all, set) = (record.storedFields, current.record.storedFields)
    for key in current.record.changedKeys() { all[key] = set.removeValue(forKey: key) }
    try RecordSize.check(all, of: model)
    current.write(onto: record)
  }

  private static func refusal(of model: Any, _ reason: String) -> EncodingError {
    .invalidValue(model, .init([], ConversionFailure(reason: reason)))
  }
}

extension StoredField {
  /// Returns the field with references that were made without a zone in that of their record.
  fileprivate func placed(in zoneID: CKRecordZone.ID) -> StoredField {
    // A reference has no wire value before its record is sent.
    guard wire == nil, zoneID != .default else { return self }
    switch object {
    case let reference as CKReference: return reference.placed(in: zoneID).storedField
    case let list as NSArray where list.firstObject is CKReference:
      return StoredField(list: list.compactMap { ($0 as? CKReference)?.placed(in: zoneID) }) { $0.storedField }
    default: return self
    }
  }
}
