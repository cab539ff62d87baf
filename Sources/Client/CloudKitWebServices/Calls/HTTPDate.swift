package import Foundation

/// Reads the dates of header fields, in the three forms of RFC 9110, section 5.6.7.
enum HTTPDate {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the time that a text names; nil if it is not a date.
  ///
  /// - Parameter now: The current time, which decides the century of a year with two digits.
  static func date(_ text: String, now: Date) -> Date? {
    let words = text.prefix(64).split { " ,-\t".contains($0) }
    // Sun, 06 Nov 1994 08:49:37 GMT · Sunday, 06-Nov-94 08:49:37 GMT · Sun Nov  6 08:49:37 1994
    switch words.count {
    case 6 where ["GMT", "UTC"].contains(words[5]):
      return date(day: words[1], month: words[2], year: words[3], clock: words[4], now: now)
    case 5: return date(day: words[2], month: words[1], year: words[4], clock: words[3], now: now)
    default: return nil
    }
  }

  private static func date(
    day: Substring,
    month: Substring,
    year: Substring,
    clock: Substring,
    now: Date
  ) -> Date? {
    let times = clock.split(separator: ":", omittingEmptySubsequences: false).compactMap { number($0, digits: 2...2) }
    guard let day = number(day, digits: 1...2), (1...31).contains(day),
      let month = months.firstIndex(of: String(month)),
      let digits = number(year, digits: year.utf8.count == 2 ? 2...2 : 4...4),
      times.count == 3, times[0] < 24, times[1] < 60, times[2] <= 60
    else { return nil }
    var parts = tm()
    (parts.tm_mday, parts.tm_mon, parts.tm_year) = (CInt(day), CInt(month), CInt(digits - 1900))
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (CInt(times[0]), CInt(times[1]), CInt(times[2]))
    if year.utf8.count == 2 {
      parts.tm_year = CInt(digits + 100)
      // More than 50 years ahead means the last century.
      if time(of: parts).timeIntervalSince(now) > 50 * 366 * 86_400 { parts.tm_year -= 100 }
    }
    return time(of: parts)
  }

  private static func time(of parts: tm) -> Date {
    var parts = parts
    return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
  }

  private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
    guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }
}

extension CKTransportResponse {
  /// Returns the wait in the header field `Retry-After`, in seconds; nil if there is none or it is invalid.
  ///
  /// A date counts from the reply's `Date`, because the local clock may differ from the server's.
  ///
  /// - Parameter now: The local time, for a reply without `Date`.
  package func retryAfter(now: Date) -> Double? {
    guard let text = header("Retry-After") else { return nil }
    if let seconds = Double(text.trimmingCharacters(in: .whitespaces)) { return WebServicesError.sound(seconds) }
    guard let end = HTTPDate.date(text, now: now) else { return nil }
    return WebServicesError.sound(max(0, end.timeIntervalSince(date(now: now) ?? now)))
  }

  /// Returns the server's time in the header field `Date`; nil if there is none.
  package func date(now: Date) -> Date? {
    header("Date").flatMap { HTTPDate.date($0, now: now) }
  }
}
