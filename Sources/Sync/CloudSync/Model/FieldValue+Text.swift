package import CloudKit
package import Facts

extension Format {
  /// Times in this machine's zone, for searches among many records.
  static let local = Format()
}

extension FieldValue {
  /// The value in one line for people, times in local time.
  package func text(_ format: Format) -> String {
    switch self {
    case .string(let text): text
    case .int64(let number): String(number)
    case .double(let number): String(number)
    case .bytes(let data): "\(data.count) bytes"
    case .timestamp(let milliseconds): format.value(milliseconds)
    case .location(let place): "\(place.latitude),\(place.longitude)"
    case .reference(let reference): "→ \(reference.recordName)\(reference.unusual)"
    case .asset(let asset): "asset, \(asset.size.map { "\($0) bytes" } ?? "size unknown")"
    case .list(_, let elements): "[" + elements.map { $0.text(format) }.joined(separator: ", ") + "]"
    case .encrypted(let value): value.text(format)
    case .other(let type, _): type
    }
  }
}

extension WireReference {
  /// The action and the zone in parentheses, except for the usual ones: `NONE`, and the zone of the record.
  fileprivate var unusual: String {
    let owner = zoneID?.ownerRecordName.map { " of \($0)" } ?? ""
    let parts = [action == "NONE" ? nil : action, zoneID.map { "zone \($0.zoneName)\(owner)" }].compactMap(\.self)
    return parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
  }
}

extension [String: FieldValue] {
  /// All fields in one line, by name.
  package func text(_ format: Format) -> String {
    sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text(format))" }.joined(separator: "  ")
  }
}
