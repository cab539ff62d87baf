import CloudSync
import Testing

@testable import CloudService

/// What a screen can say about a part of a list.
struct PageTests {
  private static func page(_ total: Int, _ offset: Int, _ count: Int, _ text: String = "") -> Page<Int> {
    Page(text: text, window: Window(total: total, offset: offset, rows: Array(offset..<offset + count)))
  }

  @Test(
    arguments: [
      (page(0, 0, 0), "", 0..<10, Page<Int>.State.empty), (page(0, 0, 0), "x", 0..<10, .loading),
      (page(3, 0, 3), "", 0..<10, .loaded), (page(100, 0, 50), "", 0..<10, .loaded),
      (page(100, 0, 50), "", 45..<55, .loading), (page(100, 0, 50), "", 90..<100, .loading),
      (page(100, 50, 50), "", 95..<105, .loaded), (page(100, 50, 50), "", 0..<10, .loading),
      (page(3, 0, 3, "x"), "x", 0..<2, .loaded), (page(3, 0, 3, "x"), "", 0..<2, .loading),
    ]
  )
  func `a list is loading until the rows that are shown have been read for its text`(
    page: Page<Int>,
    text: String,
    rows: Range<Int>,
    state: Page<Int>.State
  ) { #expect(page.state(of: text, rows: rows) == state) }

  @Test func `a row is found by its index in the whole list`() {
    let page = Self.page(100, 50, 10)
    #expect(page[50] == 50 && page[59] == 59 && page[49] == nil && page[60] == nil)
  }
}
