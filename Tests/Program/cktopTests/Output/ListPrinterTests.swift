import Testing

@testable import cktop

struct ListingTests {
  /// What a listing reads and writes, in order.
  private enum Step: Equatable {
    case read(after: Int?, limit: Int)
    case write([String])
  }

  /// Lists the numbers from 1 to `count` as JSON.
  private func steps(_ count: Int, limit: Int? = nil, row: (Int) -> String = String.init) -> [Step] {
    var steps: [Step] = []
    var listing = ListPrinter(nil) { steps.append(.write($0)) }
    listing.print(limit: limit) { (page: inout PrintedPage<Int>) in
      steps.append(.read(after: page.last, limit: page.limit))
      for number in (1...count).dropFirst(page.last ?? 0).prefix(page.limit) {
        guard page.add([row(number)], at: number) else { return }
      }
    }
    return steps
  }

  private func lines(_ numbers: ClosedRange<Int>) -> Step { .write(numbers.map(String.init)) }

  @Test func `each page begins after the last row of the one before, which is written first`() {
    #expect(
      steps(1200) == [
        .read(after: nil, limit: 500), lines(1...500), .read(after: 500, limit: 500), lines(501...1000),
        .read(after: 1000, limit: 500), lines(1001...1200),
      ]
    )
    #expect(steps(500) == [.read(after: nil, limit: 500), lines(1...500), .read(after: 500, limit: 500), .write([])])
  }

  @Test func `a limit ends the last page`() {
    #expect(
      steps(1200, limit: 700) == [
        .read(after: nil, limit: 500), lines(1...500), .read(after: 500, limit: 200), lines(501...700),
      ]
    )
    #expect(steps(1200, limit: 0) == [.read(after: nil, limit: 0), .write([])])
  }

  @Test func `rows of many bytes make short pages`() {
    let row = String(repeating: "x", count: 3_000_000)
    #expect(
      steps(3) { _ in row } == [
        .read(after: nil, limit: 500), .write([row, row]), .read(after: 2, limit: 500), .write([row]),
      ]
    )
  }

  @Test func `a table has its titles once, also without rows`() {
    var written: [[String]] = []
    var listing = ListPrinter(TextTable(["A", "B"])) { written.append($0) }
    var page = PrintedPage<Int>()
    listing.print(page)
    page.add(["1", "2"], at: 1)
    listing.print(page)
    listing.print(PrintedPage<Int>())
    #expect(written == [["A  B"], ["1  2"], []])
  }
}
