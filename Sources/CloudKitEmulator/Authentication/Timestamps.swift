import Foundation

/// Dates in the formats of HTTP and of request signing, by calendar arithmetic instead of formatters.
enum Timestamps {
  /// Returns whole milliseconds since 1970, rounded down.
  static func milliseconds(_ date: Date) -> Int64 {
    Int64((date.timeIntervalSince1970 * 1000).rounded(.down))
  }

  /// Parses exactly `YYYY-MM-DDThh:mm:ssZ`, the only format that may be signed. [D]
  static func date(fromISO8601 text: String) -> Date? {
    let bytes = Array(text.utf8)
    guard bytes.count == 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T"), bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
      bytes[19] == UInt8(ascii: "Z")
    else { return nil }
    var numbers: [Int] = []
    for range in [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19] {
      guard bytes[range].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
      numbers.append(bytes[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
    }
    guard (1...12).contains(numbers[1]), (1...31).contains(numbers[2]), numbers[3] < 24, numbers[4] < 60,
      numbers[5] < 61
    else { return nil }
    let days = days(year: numbers[0], month: numbers[1], day: numbers[2])
    return Date(timeIntervalSince1970: Double(((days * 24 + numbers[3]) * 60 + numbers[4]) * 60 + numbers[5]))
  }

  /// Returns the value of a `Date` header, e.g. `Fri, 02 Jan 2026 03:04:05 GMT`.
  static func httpDate(_ date: Date) -> String {
    let seconds = Int(date.timeIntervalSince1970.rounded(.down))
    let (days, second) = (Int((Double(seconds) / 86400).rounded(.down)), ((seconds % 86400) + 86400) % 86400)
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][((days % 7) + 7) % 7]
    let (year, month, day) = civil(days)
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let clock = [second / 3600, second / 60 % 60, second % 60].map(twoDigits).joined(separator: ":")
    return "\(weekday), \(twoDigits(day)) \(months[month - 1]) \(year) \(clock) GMT"
  }

  private static func twoDigits(_ number: Int) -> String {
    (number < 10 ? "0" : "") + String(number)
  }

  /// Returns the days since 1970 of a Gregorian date. Years start in March, so that the leap day is the last day.
  private static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }
}
