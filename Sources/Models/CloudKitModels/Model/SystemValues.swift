internal import CloudKit
internal import Foundation

/// The system values that a model has, by their kind.
struct SystemValues {
  /// The value that the model encoded for each; nil if it has none yet.
  private var values: [CKSystemValue: StoredField?] = [:]

  mutating func set(_ value: StoredField?, for kind: CKSystemValue) { values.updateValue(value, forKey: kind) }

  /// Returns the record to write to: that of the model's archive or change tag, otherwise a new one.
  ///
  /// - Throws: `EncodingError` if the archive is damaged or is that of another record.
  func record(type: CKRecord.RecordType, name: String, zoneID: CKRecordZone.ID) throws -> CKRecord {
    let (archive, tag) = (try value(.archive, as: Data.self), try value(.changeTag, as: String.self))
    if let archive {
      guard let record = CKRecord(systemFields: archive) else { throw Self.refusal("The archive is damaged.") }
      guard record.recordType == type, record.recordID.recordName == name else {
        throw Self.refusal("The archive is that of another record.")
      }
      return record
    }
    let id = CKRecord.ID(recordName: name, zoneID: zoneID)
    guard let tag else { return CKRecord(recordType: type, recordID: id) }
    var wire = WireRecord(recordName: name, recordType: type)
    wire.recordChangeTag = tag
    return CKRecord(wire: wire, zoneID: zoneID)
  }

  /// - Throws: `EncodingError` for a value of another type.
  private func value<Value: CKNativeField>(_ kind: CKSystemValue, as type: Value.Type) throws -> Value? {
    guard let value = values[kind].flatMap(\.self) else { return nil }
    guard let value = try? type.read(value) else { throw Self.refusal("The \(kind.rawValue) must have type \(type).") }
    return value
  }

  /// Whether the model decides the parent, also by having none.
  var decidesParent: Bool { values.keys.contains(.parent) }

  /// Whether the model has an archive.
  var hasArchive: Bool { values[.archive].flatMap(\.self) != nil }

  /// Whether the model knows the version that it was read from, but not that version's other values.
  var hasOnlyTag: Bool { !hasArchive && values[.changeTag].flatMap(\.self) != nil }

  /// The parent.
  var parent: CKRecord.Reference? { values[.parent].flatMap(\.self).flatMap(CKReference.read) }

  private static func refusal(_ reason: String) -> EncodingError {
    .invalidValue(CKSystemValue.archive, .init([], ConversionFailure(reason: reason)))
  }
}

extension CKSystemValue {
  /// Returns the value of a record as a field value; nil if the record has none.
  func value(of record: CKRecord) -> (any CKRecordValue)? {
    switch self {
    case .creationDate: record.creationDate
    case .modificationDate: record.modificationDate
    case .creatorUserRecordName: record.creatorUserRecordID?.recordName
    case .lastModifiedUserRecordName: record.lastModifiedUserRecordID?.recordName
    case .changeTag: record.recordChangeTag
    case .parent: record.parent
    case .share: record.share
    case .archive: record.systemFields
    }
  }
}

extension CKRecord {
  /// The system fields as an archive.
  fileprivate var systemFields: Data {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    encodeSystemFields(with: archiver)
    archiver.finishEncoding()
    return archiver.encodedData
  }

  /// A record without fields from an archive of system fields; nil if it is damaged.
  fileprivate convenience init?(systemFields: Data) {
    guard let unarchiver = NSKeyedUnarchiver.reading(systemFields) else { return nil }
    self.init(coder: unarchiver)
  }
}
