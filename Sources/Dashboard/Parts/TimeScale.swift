import CloudSync

/// The times that numbers in a row stand for: equal parts of whole minutes, the newest last.
struct TimeScale: Hashable, Sendable {
  /// The last minute, in minutes since 1970.
  let end: Int64
  /// The minutes that one number stands for.
  let each: Int64
  /// The number of numbers.
  let count: Int

  /// - Parameters:
  ///   - minutes: the time that is shown; nil: a minute to each number.
  ///   - room: the numbers that there is room for. A longer time has fewer where its parts would not be whole minutes.
  init(end: Int64, minutes: Int?, room: Int) {
    let room = max(0, room)
    let each = minutes.map { room == 0 ? 1 : max(1, ($0 + room - 1) / room) } ?? 1
    (self.end, self.each) = (end, Int64(each))
    count = minutes.map { min(room, ($0 + each - 1) / each) } ?? room
  }

  /// The number that stands for a minute; nil if the minute is not shown.
  func place(of minute: Int64) -> Int? {
    guard minute <= end, (end - minute) / each < Int64(count) else { return nil }
    return count - 1 - Int((end - minute) / each)
  }

  /// The first minute that is shown.
  var start: Int64 { end - Int64(count) * each + 1 }

  /// The sums of a value over what each number stands for.
  func sums(of minutes: [Throughput], _ value: KeyPath<Throughput, Int>) -> [Int] {
    minutes.reduce(into: Array(repeating: 0, count: count)) { sums, minute in
      if let place = place(of: minute.at / 60_000) { sums[place] += minute[keyPath: value] }
    }
  }
}
