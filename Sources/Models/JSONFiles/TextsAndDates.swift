public import Foundation

extension String? {
  /// Whether there is no text, or an empty one.
  public var isEmpty: Bool { self?.isEmpty ?? true }
}

extension String {
  /// Returns the text without a suffix; the text itself if it has no such suffix.
  public func deleting(suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}

extension Date {
  /// Makes the date that a text describes; nil if it does not have the format.
  ///
  /// - Parameters:
  ///   - date: The text, with English names of months and days.
  ///   - format: The format, such as `yyyy-MM-dd HH:mm`, in the letters of Unicode's date formats.
  ///   - timeZone: The time zone of a text that names none.
  public init?(date: String, format: String, timeZone: TimeZone = .gmt) {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = timeZone
    formatter.dateFormat = format
    guard let date = formatter.date(from: date) else { return nil }
    self = date
  }
}
