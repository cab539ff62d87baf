import Foundation

/// Dates in the formats of HTTP and of request signing.
enum Timestamps {
  /// Returns whole milliseconds since 1970, rounded down.
  static func milliseconds(_ date: Date) -> Int64 {
    Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
  }

  /// Parses exactly `YYYY-MM-DDThh:mm:ssZ`, the only format that may be signed. [D]
  static func date(fromISO8601 text: String) -> Date? {
    // The parser accepts other forms too.
    guard let date = try? Date.ISO8601FormatStyle().parse(text), date.ISO8601Format() == text else { return nil }
    return date
  }

  /// Returns the value of a `Date` header, e.g. `Fri, 02 Jan 2026 03:04:05 GMT`.
  static func httpDate(_ date: Date) -> String {
    var (seconds, parts) = (time_t(date.timeIntervalSince1970.rounded(.down)), tm())
    gmtime_r(&seconds, &parts)
    // The names of `strftime` depend on the locale.
    let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let day = "\(twoDigits(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(twoDigits).joined(separator: ":")
    return "\(weekdays[Int(parts.tm_wday)]), \(day) \(clock) GMT"
  }

  private static func twoDigits(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
}
