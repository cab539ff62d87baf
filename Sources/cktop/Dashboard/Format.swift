import CloudKit
import CloudSync
import Foundation

/// How values are spelt on the screen. Times are the terminal's own, spelt whole: a screen on which nothing happens does
/// not change.
struct Format: Hashable, Sendable {
  var timeZone: TimeZone

  init(timeZone: TimeZone = .current) { self.timeZone = timeZone }

  /// `14:03:22`, with the date where it is not today's.
  func time(_ milliseconds: Int64?, now: Int64) -> String {
    guard let milliseconds else { return "never" }
    let local = split(milliseconds)
    let today = split(now)
    let clock = String(format: "%02d:%02d:%02d", local.hour, local.minute, local.second)
    return local.day == today.day ? clock : Self.date(local.day) + " " + clock
  }

  private func split(_ milliseconds: Int64) -> (day: Int, hour: Int, minute: Int, second: Int) {
    let seconds = Int(milliseconds.quotientAndRemainder(dividingBy: 1000).quotient)
    let offset = timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds)))
    let local = seconds + offset
    let day = Int((Double(local) / 86_400).rounded(.down))
    let rest = local - day * 86_400
    return (day, rest / 3600, rest / 60 % 60, rest % 60)
  }

  private static func date(_ day: Int) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .gmt
    let parts = calendar.dateComponents([.year, .month, .day], from: Date(timeIntervalSince1970: Double(day) * 86_400))
    return String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
  }

  /// `1 change`, `2 changes`.
  static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  /// `12 s`, `3 min`, `2 h`.
  static func duration(_ seconds: Double) -> String {
    switch seconds {
    case ..<60: "\(Int(seconds.rounded(.up))) s"
    case ..<3600: "\(Int(seconds / 60)) min"
    case ..<172_800: "\(Int(seconds / 3600)) h"
    default: "\(Int(seconds / 86_400)) d"
    }
  }

  /// `512 B`, `1.2 kB`.
  static func bytes(_ count: Int) -> String {
    switch count {
    case ..<1000: "\(count) B"
    case ..<1_000_000: String(format: "%.1f kB", Double(count) / 1000)
    default: String(format: "%.1f MB", Double(count) / 1_000_000)
    }
  }

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
