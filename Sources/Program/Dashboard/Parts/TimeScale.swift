import CloudSync

/// The times that numbers in a row stand for: equal parts of whole minutes, the newest last.
struct TimeScale: Hashable, Sendable {
  /// The last minute, in minutes since 1970.
  let end: Int64
  /// The minutes of one part.
  let each: Int64
  /// The numbers that stand for one part: more than one where there is room for them.
  let width: Int
  /// The number of numbers.
  let count: Int

  /// - Parameters:
  ///   - minutes: the time that is shown; nil: a minute to each number.
  ///   - room: the numbers that there is room for. There are fewer where the parts would not be alike.
  init(end: Int64, minutes: Int?, room: Int) {
    let room = max(0, room)
    let each = minutes.map { room == 0 ? 1 : max(1, ($0 + room - 1) / room) } ?? 1
    let parts = minutes.map { min(room, ($0 + each - 1) / each) } ?? room
    width = parts == 0 ? 1 : room / parts
    (self.end, self.each, count) = (end, Int64(each), parts * width)
  }

  /// The numbers that stand for a minute; nil if the minute is not shown.
  func places(of minute: Int64) -> Range<Int>? {
    guard minute <= end, (end - minute) / each < Int64(count / width) else { return nil }
    let after = count - Int((end - minute) / each) * width
    return after - width..<after
  }

  /// The first minute that is shown.
  var start: Int64 { end - Int64(count / width) * each + 1 }

  /// The sums of a value over what each number stands for.
  func sums(of minutes: [Throughput], _ value: KeyPath<Throughput, Int>) -> [Int] {
    minutes.reduce(into: Array(repeating: 0, count: count)) { sums, minute in
      for place in places(of: minute.at / 60_000) ?? 0..<0 { sums[place] += minute[keyPath: value] }
    }
  }
}
