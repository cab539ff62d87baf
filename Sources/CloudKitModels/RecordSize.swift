internal import CloudKit
internal import Foundation

/// The approximate size of each field of a record in bytes, without asset files.
struct RecordSize {
  /// The maximum size of a record on the server.
  static let limit = 1_000_000

  private var bytes: [String: Int]

  init(of fields: [String: (any CKRecordValue)?]) {
    bytes = [:]
    for case (let key, let value?) in fields { bytes[key] = key.utf8.count + Self.bytes(of: value) }
  }

  init(of record: CKRecord) {
    bytes = [:]
    for key in record.allKeys() { bytes[key] = key.utf8.count + Self.bytes(of: record[key]) }
  }

  /// Returns the sizes after setting the fields that have a value and clearing the others.
  func replacing(with fields: [String: (any CKRecordValue)?]) -> RecordSize {
    var result = self
    let sizes = RecordSize(of: fields)
    for key in fields.keys { result.bytes[key] = sizes.bytes[key] }
    return result
  }

  /// Throws if the record is too large, and names the largest field.
  func check(_ model: Any) throws {
    let total = bytes.values.reduce(0, +)
    guard total > Self.limit, let largest = bytes.max(by: { $0.value < $1.value }) else { return }
    let reason = """
      The record would have \(total) bytes, but the limit is \(Self.limit). Its largest field is "\(largest.key)" with \
      \(largest.value) bytes. Store large data as an asset.
      """
    throw EncodingError.invalidValue(model, .init([FieldKey(largest.key)], Unfit(reason: reason)))
  }

  private static func bytes(of value: Any?) -> Int {
    // Comparing types first, because a failing cast to a class bridges the value.
    let type = value.map { Swift.type(of: $0) }
    if type == Int64.self || type == Double.self || type == Date.self { return 8 }
    if type == String.self { return (value as? String)?.utf8.count ?? 0 }
    if type == Data.self { return (value as? Data)?.count ?? 0 }
    if type == [String].self { return (value as? [String])?.reduce(0) { $0 + $1.utf8.count } ?? 0 }
    return switch value {
    case let text as NSString: text.lengthOfBytes(using: String.Encoding.utf8.rawValue)
    case let data as NSData: data.length
    case let list as NSArray: list.reduce(0) { $0 + bytes(of: $1) }
    case let reference as CKReference: reference.recordID.recordName.utf8.count
    default: 8
    }
  }
}

/// A field name, for the coding path of an error.
struct FieldKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}
