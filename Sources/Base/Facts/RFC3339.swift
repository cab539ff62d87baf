/// Times as RFC 3339 writes them, from and to whole milliseconds since 1970.
package enum RFC3339 {
  /// `2026-01-01T00:00:00.000Z`: always UTC, always with milliseconds. Outside the years 0 to 9999: nil.
  package static func text(milliseconds: Int64) -> String? {
    let (day, rest) = milliseconds.flooredDivision(by: 86_400_000)
    guard (firstDay...lastDay).contains(day) else { return nil }
    let (year, month, date) = civil(day: day)
    let time = [(rest / 3_600_000, 2), (rest / 60_000 % 60, 2), (rest / 1000 % 60, 2), (rest % 1000, 3)].map(padded)
    let calendar = [(year, 4), (month, 2), (date, 2)].map(padded).joined(separator: "-")
    return "\(calendar)T\(time[0...2].joined(separator: ":")).\(time[3])Z"
  }

  /// `2026-01-01T01:00:00.000+01:00`: the same time in a place that is so many minutes east of Greenwich.
  package static func text(milliseconds: Int64, minutesEast: Int) -> String? {
    let (local, isOverflow) = milliseconds.addingReportingOverflow(Int64(minutesEast) * 60_000)
    guard minutesEast != 0, !isOverflow else { return text(milliseconds: milliseconds) }
    let offset = [(Int64(abs(minutesEast) / 60), 2), (Int64(abs(minutesEast) % 60), 2)].map(padded)
    return text(milliseconds: local).map {
      "\($0.dropLast())\(minutesEast < 0 ? "-" : "+")\(offset.joined(separator: ":"))"
    }
  }

  /// Reads a date and a time with its offset; digits beyond milliseconds are cut off. Nil for anything else.
  package static func milliseconds(_ text: String) -> Int64? {
    var reader = Reader(rest: Array(text.utf8)[...])
    guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
      let date = reader.number(2), reader.take("T") || reader.take("t") || reader.take(" "),
      let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), reader.take(":"),
      let second = reader.number(2), let fraction = reader.fraction(), let offset = reader.offset(), reader.rest.isEmpty
    else { return nil }
    // A leap second (60) is the first moment of the next minute.
    guard (1...12).contains(month), date >= 1, date <= length(of: month, in: year), hour < 24, minute < 60, second <= 60
    else { return nil }
    let seconds = day(year, month, date) * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
    return seconds * 1000 + fraction
  }

  /// The times that a text stands for, whose end may be missing: those of a year, month, day, minute or second. Without
  /// an offset it is UTC. Nil if it is no time.
  package static func times(ofShort text: String) -> Range<Int64>? {
    let second: Int64 = text.contains(".") ? 1 : 1000
    for (rest, length) in [("", second), ("Z", second), (":00Z", 60_000), ("T00:00:00Z", milliseconds(ofDays: 1))] {
      if let start = milliseconds(text + rest) { return start..<start + length }
    }
    var reader = Reader(rest: Array(text.utf8)[...])
    guard let year = reader.number(4) else { return nil }
    let (start, end): (Int64, Int64)
    if reader.rest.isEmpty {
      (start, end) = (day(year, 1, 1), day(year + 1, 1, 1))
    } else {
      guard reader.take("-"), let month = reader.number(2), (1...12).contains(month), reader.rest.isEmpty else {
        return nil
      }
      (start, end) = (day(year, month, 1), month == 12 ? day(year + 1, 1, 1) : day(year, month + 1, 1))
    }
    return milliseconds(ofDays: start)..<milliseconds(ofDays: end)
  }

  private static func milliseconds(ofDays days: Int64) -> Int64 { days * 86_400_000 }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func number(_ count: Int) -> Int64? {
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy(\.isDigit) else { return nil }
      rest = rest.dropFirst(count)
      return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    /// Milliseconds; 0 where there is no fraction.
    mutating func fraction() -> Int64? {
      guard take(".") else { return 0 }
      let digits = rest.prefix { $0.isDigit }
      guard !digits.isEmpty else { return nil }
      rest = rest.dropFirst(digits.count)
      return (0..<3).reduce(0) { value, place in
        value * 10 + (place < digits.count ? Int64(digits[digits.startIndex + place] - UInt8(ascii: "0")) : 0)
      }
    }

    /// Minutes east of Greenwich.
    mutating func offset() -> Int64? {
      if take("Z") || take("z") { return 0 }
      let sign: Int64
      if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
      guard let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else { return nil }
      return sign * (hours * 60 + minutes)
    }
  }

  private static let firstDay = day(0, 1, 1)
  private static let lastDay = day(9999, 12, 31)

  private static func padded(_ number: (Int64, Int)) -> String {
    let digits = String(number.0)
    return String(repeating: "0", count: max(0, number.1 - digits.count)) + digits
  }

  private static func length(of month: Int64, in year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970 of the proleptic Gregorian calendar, by eras of 400 years that begin in March.
  private static func day(_ year: Int64, _ month: Int64, _ date: Int64) -> Int64 {
    let (era, yearOfEra) = (month <= 2 ? year - 1 : year).flooredDivision(by: 400)
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + date - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(day: Int64) -> (year: Int64, month: Int64, date: Int64) {
    let (era, dayOfEra) = (day + 719_468).flooredDivision(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }
}

extension Int64 {
  fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
}
