import CloudService
import CloudSync
import Facts
import TerminalUI

/// The verdicts and the changes of the last 24 hours as one strip that ends now. While all that is known is of the last
/// hour, it shows that hour.
struct DayStrip {
  /// The condition of a time; the greater of two is shown where both held.
  enum Condition: Hashable, Sendable, Comparable {
    /// No syncing process had noted a verdict yet.
    case unknown
    /// No process was syncing.
    case notSyncing
    case held(Verdict.Urgency)

    init(_ urgency: Verdict.Urgency?) { self = urgency.map(Condition.held) ?? .notSyncing }

    private var rank: Int {
      switch self {
      case .unknown: 0
      case .held(.fine): 1
      case .notSyncing: 2
      case .held(.waits): 3
      case .held(.look): 4
      case .held(.act): 5
      }
    }

    static func < (first: Condition, second: Condition) -> Bool { first.rank < second.rank }

    var mark: StyledText {
      switch self {
      case .unknown: ""
      case .notSyncing: StyledText("·", .dim)
      case .held(let urgency): StyledText(urgency.rawValue, urgency.role)
      }
    }
  }

  /// The conditions of the parts of a time.
  static func conditions(_ spans: [VerdictSpan], _ scale: TimeScale) -> [Condition] {
    var conditions = Array(repeating: Condition.unknown, count: scale.count)
    for span in spans where span.from < span.until {
      let (first, last) = (max(span.from / 60_000, scale.start), min((span.until - 1) / 60_000, scale.end))
      guard first <= last, let from = scale.places(of: first), let to = scale.places(of: last) else { continue }
      for place in from.lowerBound..<to.upperBound {
        conditions[place] = max(conditions[place], Condition(span.urgency))
      }
    }
    return conditions
  }

  /// The greater of each two, counted from the last: a cell has two numbers.
  static func cells(_ conditions: [Condition]) -> [Condition] {
    let padded = conditions.count.isMultiple(of: 2) ? conditions : [.unknown] + conditions
    return stride(from: 0, to: padded.count, by: 2).map { max(padded[$0], padded[$0 + 1]) }
  }

  /// The minutes that are shown.
  static func minutes(_ world: World) -> Int {
    let known = [world.data.throughput?.first?.at, world.data.verdicts?.first?.from].compactMap(\.self).min()
    return known.map { world.now - $0 >= 3_600_000 } ?? false ? 1440 : 60
  }

  let world: World
  /// The minute that the cursor is on, in minutes since 1970; nil: it follows the clock.
  let cursor: Int64?

  /// Draws as many rows as there is room for: at least those of the time, the verdicts and the hours.
  func draw(on grid: inout Grid, in area: Rect) {
    guard area.height >= 3 else { return }
    let columns = area.chart
    let minutes = Self.minutes(world)
    let scale = TimeScale(end: world.now / 60_000, minutes: minutes, room: columns[1].width * 2)
    let title = minutes == 60 ? "LAST HOUR" : "LAST 24 HOURS"
    grid.put(StyledText(title, .header), in: area.row(0))
    grid.put(legend(area.width), in: area.row(0), .trailing)
    let values: [(String, KeyPath<Throughput, Int>)] = [("sent", \.sent), ("fetched", \.fetched), ("failed", \.failed)]
    var y = 1
    func place(_ column: Int) -> Rect {
      Rect(x: columns[column].x, y: area.y + y, width: columns[column].width, height: 1)
    }
    for (name, value) in values.prefix(area.height - 3) {
      grid.put(StyledText(name, .dim), in: place(0))
      grid.draw(Chart(scale.sums(of: world.data.throughput ?? [], value).map(Double.init)), in: place(1))
      grid.put(StyledText(amount(value), .dim), in: place(2), .trailing)
      y += 1
    }
    grid.put(StyledText("verdict", .dim), in: place(0))
    let cells = Self.cells(Self.conditions(world.spans, scale))
    for (index, cell) in cells.enumerated() {
      grid.put(cell.mark, in: Rect(x: columns[1].maxX - cells.count + index, y: area.y + y, width: 1, height: 1))
    }
    grid.put(StyledText(verdict, .dim), in: place(2), .trailing)
    drawHours(scale, on: &grid, in: Rect(x: columns[1].x, y: area.y + y + 1, width: columns[1].width, height: 1))
    drawCursor(scale, on: &grid, in: Rect(x: columns[1].x, y: area.y + 1, width: columns[1].width, height: y + 1))
  }

  /// The meaning of the marks, as far as there is room beside the title.
  private func legend(_ width: Int) -> StyledText {
    let parts =
      Verdict.Urgency.allCases.map { (Condition.held($0), $0.meaning) }
      + [(Condition.notSyncing, "nothing was syncing")]
    let whole = StyledText(parts.flatMap { [.init("  ")] + $0.0.mark.spans + [.init(" \($0.1)", .dim)] })
    let short = StyledText(Condition.notSyncing.mark.spans + [.init(" not syncing", .dim)])
    return width >= Breakpoint.wholeLegend ? whole : short
  }

  /// A value of the selected minute, else of all that is shown.
  private func amount(_ value: KeyPath<Throughput, Int>) -> String {
    let all = world.data.throughput ?? []
    let shown = cursor.map { cursor in all.filter { $0.at / 60_000 == cursor } } ?? all
    return Format.number(shown.reduce(0) { $0 + $1[keyPath: value] })
  }

  /// The verdict of the selected minute, else the present one.
  private var verdict: String {
    guard let cursor else { return world.verdict?.label ?? "" }
    return world.moment(ofMinute: cursor).spans.last?.words ?? "not known"
  }

  /// The hours of the day under the cells at which they begin.
  private func drawHours(_ scale: TimeScale, on grid: inout Grid, in row: Rect) {
    let (now, minute) = (scale.end * 60_000, Int64(60_000))
    // Midnight, and with it every hour, in minutes since 1970.
    let midnight = scale.end + (world.format.untilMidnight(now) + minute - 1) / minute
    // A label and a blank take six cells of two numbers.
    let steps: [Int64] = [10, 20, 30, 60, 120, 180, 240, 360, 720]
    guard let every = steps.first(where: { $0 * Int64(scale.width) >= 12 * scale.each }) else { return }
    var time = midnight - (midnight - scale.start) / every * every
    while time <= scale.end {
      let text = String(world.format.clock(time * minute, now: time * minute))
      if let x = column(of: time, scale, in: row), x + text.count <= row.maxX {
        grid.put(StyledText(text, .dim), in: Rect(x: x, y: row.y, width: text.count, height: 1))
      }
      time += every
    }
  }

  /// The first column of a minute.
  private func column(of minute: Int64, _ scale: TimeScale, in row: Rect) -> Int? {
    scale.places(of: minute).map { row.maxX - 1 - (scale.count - 1 - $0.lowerBound) / 2 }
  }

  private func drawCursor(_ scale: TimeScale, on grid: inout Grid, in area: Rect) {
    guard let cursor, let x = column(of: cursor, scale, in: area) else { return }
    for y in area.y..<area.maxY {
      guard let cell = grid[Position(x: x, y: y)] else { continue }
      let style = Style(cell.character == " " ? .selection : cell.style.role, on: .selection)
      grid.put(String(cell.character), at: Position(x: x, y: y), style)
    }
  }
}

extension World {
  /// The verdicts of the last 24 hours; what held last still holds.
  var spans: [VerdictSpan] {
    var spans = data.verdicts ?? []
    if let last = spans.indices.last { spans[last].until = max(spans[last].until, now) }
    return spans
  }

  /// Returns what is stored about a minute, in minutes since 1970.
  func moment(ofMinute minute: Int64) -> Moment { Moment(minute, spans, data.throughput ?? []) }
}
