package import Foundation

/// How counts, sizes and times are written. Times are local, and never relative: a screen on which nothing happens does
/// not change.
package struct Format: Hashable, Sendable {
  package var timeZone: TimeZone

  package init(timeZone: TimeZone = .current) { self.timeZone = timeZone }

  /// `14:03:22`, with the date where it is not today's.
  package func time(_ milliseconds: Int64?, now: Int64) -> String {
    guard let milliseconds else { return "never" }
    let local = split(milliseconds)
    let clock = String(format: "%02d:%02d:%02d", local.hour, local.minute, local.second)
    return isSameDay(milliseconds, now) ? clock : Self.date(local.day) + " " + clock
  }

  /// `14:03`, of another day `Nov 21 14:03`.
  package func clock(_ milliseconds: Int64, now: Int64) -> String {
    let local = split(milliseconds)
    let clock = String(format: "%02d:%02d", local.hour, local.minute)
    return isSameDay(milliseconds, now) ? clock : "\(day(milliseconds)) \(clock)"
  }

  /// `Nov 21`.
  package func day(_ milliseconds: Int64) -> String {
    let parts = Self.parts(split(milliseconds).day)
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return String(format: "%@ %02d", months[parts.month - 1], parts.day)
  }

  /// Whether two times are on the same day here.
  package func isSameDay(_ one: Int64, _ other: Int64) -> Bool { split(one).day == split(other).day }

  /// `2026-01-01T14:03:22.000+01:00`: local, and exact wherever it is read, such as in a log.
  package func stamp(_ milliseconds: Int64) -> String {
    let offset = timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))
    return RFC3339.text(milliseconds: milliseconds, minutesEast: offset / 60) ?? String(milliseconds)
  }

  /// `2026-01-01 14:03:22+01:00`: the same as a value of a field, which can be given as input again. Milliseconds are
  /// written where they are not zero.
  package func value(_ milliseconds: Int64) -> String {
    stamp(milliseconds).replacingOccurrences(of: "T", with: " ").replacingOccurrences(of: ".000", with: "")
  }

  /// The times that a text stands for, whose end may be missing: those of a year, month, day, minute or second. Without
  /// an offset they are local. Nil if it is no time.
  package func times(_ text: String) -> Range<Int64>? {
    guard let times = RFC3339.times(ofShort: text), RFC3339.milliseconds(text) == nil else {
      return RFC3339.times(ofShort: text)
    }
    let (start, length) = (time(ofClock: times.lowerBound), times.upperBound - times.lowerBound)
    // Days and longer spans may have more or fewer hours than elsewhere.
    return start..<(length < Self.day ? start + length : time(ofClock: times.upperBound))
  }

  private static let day: Int64 = 86_400_000

  /// The time at which clocks here show what clocks in UTC show at another: the first of two, and for a time that they
  /// skip the one that they show instead.
  private func time(ofClock utc: Int64) -> Int64 {
    let candidates = [-Self.day, Self.day].map { utc - offset(at: utc + $0) }
    return candidates.filter { $0 + offset(at: $0) == utc }.min() ?? candidates[0]
  }

  /// The milliseconds that clocks here are ahead of UTC.
  private func offset(at milliseconds: Int64) -> Int64 {
    Int64(timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))) * 1000
  }

  /// The milliseconds from a time to the next midnight.
  package func untilMidnight(_ milliseconds: Int64) -> Int64 {
    let local = split(milliseconds)
    let passed = Int64(local.hour * 3600 + local.minute * 60 + local.second)
    return (86_400 - passed) * 1000 - milliseconds % 1000
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
    let parts = parts(day)
    return String(format: "%04d-%02d-%02d", parts.year, parts.month, parts.day)
  }

  private static func parts(_ day: Int) -> (year: Int, month: Int, day: Int) {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .gmt
    let parts = calendar.dateComponents([.year, .month, .day], from: Date(timeIntervalSince1970: Double(day) * 86_400))
    return (parts.year ?? 1970, parts.month ?? 1, parts.day ?? 1)
  }

  /// `12 s`, `3 min`, `2 h`.
  package static func duration(_ seconds: Double) -> String {
    switch seconds {
    case ..<60: "\(Int(clamping: seconds.rounded(.up))) s"
    case ..<3600: "\(Int(clamping: seconds / 60)) min"
    case ..<172_800: "\(Int(clamping: seconds / 3600)) h"
    default: "\(Int(clamping: seconds / 86_400)) d"
    }
  }

  /// `3 min ago`; both times in milliseconds since 1970.
  package static func ago(_ time: Int64, now: Int64) -> String {
    "\(duration(max(0, Double(now) - Double(time)) / 1000)) ago"
  }

  /// `0.2 s`, `12 s`, `3 min`.
  package static func seconds(_ seconds: Double) -> String {
    seconds < 10 ? String(format: "%.1f s", seconds) : duration(seconds)
  }

  /// `512 B`, `1.2 kB`, `3.4 MB`, `5.6 GB`.
  package static func bytes(_ count: Int) -> String {
    switch count {
    case ..<1000: "\(count) B"
    case ..<1_000_000: String(format: "%.1f kB", Double(count) / 1000)
    case ..<1_000_000_000: String(format: "%.1f MB", Double(count) / 1_000_000)
    default: String(format: "%.1f GB", Double(count) / 1_000_000_000)
    }
  }

  /// `1,204`.
  package static func number(_ number: Int) -> String {
    var groups: [Substring] = []
    var digits = String(number.magnitude)[...]
    while digits.count > 3 {
      groups.insert(digits.suffix(3), at: 0)
      digits = digits.dropLast(3)
    }
    return (number < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
  }
}

extension Int {
  /// Creates the nearest number to one that may be infinite or no number, which becomes 0.
  package init(clamping value: Double) {
    self = value.isNaN ? 0 : Int(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
  }
}
