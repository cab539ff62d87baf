import TerminalUI

/// The sizes from which there is room for more, in columns and rows.
enum Breakpoint {
  static let moreThanVerdict = Size(width: 40, height: 12)
  static let fourPanes = Size(width: 60, height: 16)

  // Columns.
  static let amountOfChart = 40
  static let operationIDs = 56
  static let sentenceInColumn = 70
  static let wholeLegend = 76
  static let keyBesideCard = 80
  static let listBesideConflict = 90
  static let operationVerbs = 90
  static let datesWithTimes = 100
  static let detailBesideList = 120

  // Rows.
  static let stripWithoutSums = 7
  static let wholeDetail = 14
  static let wholeStrip = 16
  static let listAboveDetail = 20
  static let hourAboveStrip = 28
  static let eventsBelowPanes = 28
  static let tallPanes = 30
}

extension Size {
  /// Whether the other fits in.
  func holds(_ other: Size) -> Bool { width >= other.width && height >= other.height }
}

extension Rect {
  /// The name of a chart, the chart, and an amount where there is room for one.
  var chart: [Rect] {
    row(0).columns([.fixed(7), .flexible, .fixed(width >= Breakpoint.amountOfChart ? 16 : 0)], gap: 1)
  }
}
