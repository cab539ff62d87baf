package import CloudKit
import Facts

extension FieldValue {
  /// The value in one line for people.
  package var text: String {
    switch self {
    case .string(let text): text
    case .int64(let number): String(number)
    case .double(let number): String(number)
    case .bytes(let data): "\(data.count) bytes"
    case .timestamp(let milliseconds): RFC3339.text(milliseconds: milliseconds) ?? String(milliseconds)
    case .location(let place): "\(place.latitude),\(place.longitude)"
    case .reference(let reference): "→ \(reference.recordName)"
    case .asset(let asset): "asset, \(asset.size.map { "\($0) bytes" } ?? "size unknown")"
    case .list(_, let elements): "[" + elements.map(\.text).joined(separator: ", ") + "]"
    case .encrypted(let value): value.text
    case .other(let type, _): type
    }
  }
}

extension [String: FieldValue] {
  /// All fields in one line, by name.
  package var text: String { sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }.joined(separator: "  ") }
}
