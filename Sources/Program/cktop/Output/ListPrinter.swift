/// Prints a list page by page, as JSON or as a table, so that a long list is never in memory as a whole.
struct ListPrinter {
  /// The number of rows that are read at once.
  static let pageSize = 500

  private var table: TextTable?
  private let write: ([String]) -> Void

  /// - Parameters:
  ///   - table: a table without rows; nil for JSON, where a row is a line.
  ///   - write: writes lines.
  init(_ table: TextTable?, write: @escaping ([String]) -> Void = OutputFile.standard.lines) {
    (self.table, self.write) = (table, write)
  }

  /// Reads and prints one page after the other.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of rows.
  ///   - read: adds the rows after the page's last place, in one transaction, until the page is full.
  mutating func print<Place>(limit: Int? = nil, _ read: (inout PrintedPage<Place>) throws -> Void) rethrows {
    var (last, left): (Place?, Int) = (nil, limit ?? .max)
    while true {
      var page = PrintedPage(after: last, limit: min(Self.pageSize, left))
      try read(&page)
      print(page)
      (last, left) = (page.last, left - page.rows.count)
      guard page.isFull, left > 0 else { return }
    }
  }

  /// Prints a page. A table begins with its titles.
  mutating func print(_ page: PrintedPage<some Any>) {
    for row in page.rows { table?.append(row) }
    write(table?.lines(width: OutputFile.standard.width) ?? page.rows.map { $0.joined() })
  }
}

/// The rows of one page of a list.
struct PrintedPage<Place> {
  /// The place of the last row, after which the next page begins; until a row is added, that of the page before.
  private(set) var last: Place?
  let limit: Int
  /// The cells of each row, or its line of JSON.
  private(set) var rows: [[String]] = []
  private var bytes = 0

  /// - Parameter last: the place of the last row of the page before; nil for the first page.
  init(after last: Place? = nil, limit: Int = ListPrinter.pageSize) { (self.last, self.limit) = (last, limit) }

  /// Whether the list may have more rows. Values can be large, so their bytes end a page as well.
  var isFull: Bool { rows.count >= limit || bytes >= 4_000_000 }

  /// Adds a row; returns whether there is room for another.
  @discardableResult
  mutating func add(_ row: [String], at place: Place) -> Bool {
    rows.append(row)
    bytes += row.reduce(0) { $0 + $1.utf8.count }
    last = place
    return !isFull
  }
}
