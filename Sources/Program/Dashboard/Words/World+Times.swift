import CloudSync
import Facts

extension World {
  /// A time in a list of so many columns.
  func listed(_ milliseconds: Int64?, _ width: Int) -> String {
    milliseconds.map { width.isWide ? moment($0) : short($0) } ?? ""
  }

  /// A time in at most twelve cells: `14:03:21`, of another day `Nov 21 14:03`.
  func moment(_ milliseconds: Int64) -> String { isToday(milliseconds) ? time(milliseconds) : clock(milliseconds) }

  /// A time in at most eight cells: `14:03:21`, of another day `Nov 21`.
  func short(_ milliseconds: Int64) -> String {
    isToday(milliseconds) ? time(milliseconds) : format.day(milliseconds)
  }

  /// A time in at most six cells: `14:03`, of another day `Nov 21`.
  func shortest(_ milliseconds: Int64) -> String {
    isToday(milliseconds) ? clock(milliseconds) : format.day(milliseconds)
  }

  private func isToday(_ milliseconds: Int64) -> Bool { format.isSameDay(milliseconds, now) }

  /// A user: whether it is this store's own, else a short form of the name.
  func user(_ name: String) -> String {
    if name == status?.identity { return "this user" }
    return name.count > 12 ? "\(name.prefix(6))…\(name.suffix(4))" : name
  }
}
