import CloudKit
import CloudSync
import Facts
import Foundation

/// Formats values of records for the screen.
extension Format {
  /// An amount in the unit of a phase: bytes for uploads, otherwise operations.
  fileprivate static func amount(_ count: Int, _ phase: CloudSync.Progress.Phase) -> String {
    phase == .upload ? bytes(count) : "\(count)"
  }

  /// A field's value on one line. The screen escapes control characters.
  func value(_ value: FieldValue?, now: Int64) -> String {
    guard let value else { return "(none)" }
    switch value {
    case .string(let text): return text
    case .int64(let number): return String(number)
    case .double(let number): return String(number)
    case .bytes(let data): return "\(data.count) bytes"
    case .timestamp(let milliseconds): return time(milliseconds, now: now)
    case .location(let place): return "\(place.latitude), \(place.longitude)"
    case .reference(let reference): return "→ " + reference.recordName
    case .asset(let asset): return "asset of \(Self.bytes(Int(asset.size ?? 0)))"
    case .list(_, let elements): return "[" + elements.map { self.value($0, now: now) }.joined(separator: ", ") + "]"
    case .encrypted(let value): return self.value(value, now: now)
    case .other(let type, _): return type
    }
  }

  /// All fields on one line, sorted by name.
  func fields(_ fields: [String: FieldValue], now: Int64) -> String {
    fields.sorted { $0.key < $1.key }.map { "\($0.key)=\(value($0.value, now: now))" }.joined(separator: "  ")
  }
}

extension CloudSync.Progress {
  /// The amount done, for people.
  var amount: String { Format.amount(done, phase) }
  /// The total amount, for people.
  var whole: String { Format.amount(total, phase) }
}
