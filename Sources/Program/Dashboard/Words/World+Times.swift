import CloudSync
import Facts

extension World {
  /// A time in at most eight cells: `14:03:21`, of another day `Nov 21`.
  func short(_ milliseconds: Int64?) -> String {
    guard let milliseconds else { return "" }
    let clock = format.clock(milliseconds, now: now)
    return clock.count > 5 ? String(clock.prefix(6)) : format.time(milliseconds, now: now)
  }

  /// A time in at most twelve cells: `14:03:21`, of another day `Nov 21 14:03`.
  func moment(_ milliseconds: Int64) -> String {
    let clock = format.clock(milliseconds, now: now)
    return clock.count > 5 ? clock : format.time(milliseconds, now: now)
  }

  /// A time in at most six cells: `14:03`, of another day `Nov 21`.
  func shortest(_ milliseconds: Int64) -> String {
    let clock = format.clock(milliseconds, now: now)
    return clock.count > 5 ? String(clock.prefix(6)) : clock
  }

  /// A user: whether it is this store's own, else a short form of the name.
  func user(_ name: String) -> String {
    if name == status?.identity { return "this user" }
    return name.count > 12 ? "\(name.prefix(6))…\(name.suffix(4))" : name
  }
}
