/// The size of a record in bytes as the server is assumed to count it: its fields, without asset files (reference 4).
package enum RecordSize {
  /// The maximum size of a record on the server.
  package static let limit = 1_000_000

  /// Returns the size of a record with these fields.
  package static func bytes(of fields: [String: FieldValue]) -> Int {
    fields.reduce(0) { $0 + $1.key.utf8.count + bytes(of: $1.value) }
  }

  /// Returns the size of a value.
  package static func bytes(of value: FieldValue) -> Int {
    switch value {
    case .string(let text): text.utf8.count
    case .bytes(let data): data.count
    case .reference(let reference): reference.recordName.utf8.count
    case .list(_, let elements): elements.reduce(0) { $0 + bytes(of: $1) }
    case .encrypted(let value): bytes(of: value)
    case .int64, .double, .timestamp, .location, .asset, .other: 8
    }
  }
}
