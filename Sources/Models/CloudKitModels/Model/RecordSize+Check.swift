internal import CloudKit
internal import Foundation

extension RecordSize {
  /// Throws if the fields are too large for a record, and names the largest one.
  static func check(_ fields: [String: StoredField], of model: Any) throws {
    let total = fields.reduce(0) { $0 + bytes(of: $1) }
    guard total > limit, let (key, size) = fields.map({ ($0.key, bytes(of: $0)) }).max(by: { $0.1 < $1.1 }) else {
      return
    }
    let reason = """
      The record would have \(total) bytes, but the limit is \(limit). Its largest field is "\(key)" with \
      \(size) bytes. Store large data as an asset.
      """
    throw EncodingError.invalidValue(model, .init([FieldCodingKey(key)], ConversionFailure(.limitExceeded, reason)))
  }

  private static func bytes(of field: (key: String, value: StoredField)) -> Int {
    field.key.utf8.count + (field.value.wire.map { bytes(of: $0) } ?? bytes(of: field.value.object))
  }

  private static func bytes(of value: Any) -> Int {
    switch value {
    case let list as NSArray: list.reduce(0) { $0 + bytes(of: $1) }
    case let reference as CKReference: reference.recordID.recordName.utf8.count
    default: 8
    }
  }
}

/// A field name, for the coding path of an error.
struct FieldCodingKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}
