import CloudKit
import CloudSync
import Facts
import Foundation

/// Values of records on the screen.
extension Format {
  /// An amount in the unit of a phase: bytes of files, else operations.
  fileprivate static func amount(_ count: Int, _ phase: CloudSync.Progress.Phase) -> String {
    phase == .upload ? bytes(count) : "\(count)"
  }

  /// A field's value in one line. The screen escapes what must not reach a terminal.
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

  /// All fields in one line, by name.
  func fields(_ fields: [String: FieldValue], now: Int64) -> String {
    fields.sorted { $0.key < $1.key }.map { "\($0.key)=\(value($0.value, now: now))" }.joined(separator: "  ")
  }
}

extension CloudSync.Progress {
  /// What is done, for people.
  var amount: String { Format.amount(done, phase) }
  /// What there is to do, for people.
  var whole: String { Format.amount(total, phase) }
}
