import CloudService
import CloudSync
import Facts
import TerminalUI

/// The changes sent or fetched over time, from the stored minutes. A chart of a fixed time ends now; one that shows as
/// much as there is room for ends at the last minute in which something happened, so that it moves only with the data.
struct ThroughputChart {
  private let world: World
  private let name: String
  private let value: KeyPath<Throughput, Int>
  /// The time that it shows; nil: a minute to each number, as far as there is room.
  private let minutes: Int?

  init(_ world: World, _ name: String, _ value: KeyPath<Throughput, Int>, minutes: Int? = nil) {
    (self.world, self.name, self.value, self.minutes) = (world, name, value, minutes)
  }

  /// The last minute that it shows, in minutes since 1970.
  private var end: Int64 {
    let now = world.now / 60_000
    guard let last = world.data.throughput?.last.map({ $0.at / 60_000 }) else { return now }
    return minutes == nil ? last : max(now, last)
  }

  func draw(on grid: inout Grid, in row: Rect) {
    let places = row.chart
    grid.put(StyledText(name, .dim), in: places[0])
    grid.draw(Chart(numbers(upTo: max(0, places[1].width * 2)).map(Double.init)), in: places[1])
    let last = world.data.throughput?.last.map { "\(world.shortest($0.at)) \(Format.number($0[keyPath: value]))/min" }
    grid.put(StyledText(last ?? "nothing yet", .dim), in: places[2], .trailing)
  }

  /// The sums of equal parts of the time, oldest first.
  func numbers(upTo count: Int) -> [Int] {
    TimeScale(end: end, minutes: minutes, room: count).sums(of: world.data.throughput ?? [], value)
  }
}
