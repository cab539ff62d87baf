internal import CloudKit
internal import Foundation

/// How many bytes each field of a record takes, about; files of assets do not count.
struct RecordSize {
  /// The largest record that the server takes.
  static let limit = 1_000_000

  private var bytes: [String: Int] = [:]

  init(of record: CKRecord) {
    for key in record.allKeys() { bytes[key] = key.utf8.count + Self.bytes(of: record[key]) }
  }

  /// The sizes after the fields that another record has set or cleared are taken over.
  func replacing(with other: CKRecord) -> RecordSize {
    var result = self
    let sizes = RecordSize(of: other)
    for key in other.changedKeys() { result.bytes[key] = sizes.bytes[key] }
    return result
  }

  /// Throws where the whole is too large, naming the largest field.
  func check(_ model: Any) throws {
    let total = bytes.values.reduce(0, +)
    guard total > Self.limit, let largest = bytes.max(by: { $0.value < $1.value }) else { return }
    let reason = """
      The record would take \(total) bytes and may take \(Self.limit). Its largest field is "\(largest.key)" with \
      \(largest.value): a CKAsset holds more.
      """
    throw EncodingError.invalidValue(model, .init(codingPath: [FieldKey(largest.key)], debugDescription: reason))
  }

  private static func bytes(of value: Any?) -> Int {
    switch value {
    case let text as NSString: text.lengthOfBytes(using: String.Encoding.utf8.rawValue)
    case let data as NSData: data.length
    case let list as NSArray: list.reduce(0) { $0 + bytes(of: $1) }
    case let reference as CKReference: reference.recordID.recordName.utf8.count
    default: 8
    }
  }
}

/// The name of a field, for the coding path of an error.
struct FieldKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(_ name: String) { stringValue = name }
  init?(stringValue: String) { self.init(stringValue) }
  init?(intValue: Int) { nil }
}
