import Facts

/// The text that a person filters a list by.
package enum ListFilter: Hashable, Sendable {
  case none
  /// Every word has to be in what the list shows of a row, in any letter case.
  case words([String])
  /// An expression as `--where` takes it. `text`: as it was typed.
  case expression(QueueFilter, text: String)

  /// The most words, and the most bytes, of a text.
  static let limit = (words: 100, bytes: 10_000)

  /// Reads what a person typed: an expression where it is one, else words.
  ///
  /// A text that is meant as an expression, because it compares or begins with a column and an operator, is an error if
  /// it does not parse.
  ///
  /// - Parameter table: the list whose columns an expression names; nil: words only.
  package static func parse(_ text: String, of table: FilterTable?) -> Result<ListFilter, FilterError> {
    let words = text.split { $0.isWhitespace || $0 == "\0" }.map(String.init)
    guard !words.isEmpty else { return .success(.none) }
    // One word with spaces and operators in it.
    if table == .records, let word = text.unquoted { return .success(.words([word])) }
    if let table {
      do throws(FilterError) {
        return .success(.expression(try QueueFilter(parsing: text, of: table), text: text))
      } catch {
        if isMeantAsExpression(text, words, table) { return .failure(error) }
      }
    }
    guard words.count <= limit.words, text.utf8.count <= limit.bytes else {
      let message = "a filter has at most \(limit.words) words and \(limit.bytes) bytes"
      return .failure(FilterError(message: message, column: 1))
    }
    return .success(.words(words))
  }

  private static func isMeantAsExpression(_ text: String, _ words: [String], _ table: FilterTable) -> Bool {
    // Records may contain any text, such as a mail address in angle brackets.
    if table == .records { return text.comparesField }
    if text.contains(where: { "=<>".contains($0) }) { return true }
    guard words.count > 1, ["like", "in", "is", "not"].contains(words[1].lowercased()) else { return false }
    return table.column(words[0]) != nil
  }

  /// The words; none if it is no filter by words.
  var words: [String] { if case .words(let words) = self { words } else { [] } }

  /// Whether the rows have to be looked at one by one to find those that match.
  package var isSearch: Bool {
    switch self {
    case .none: false
    case .words: true
    case .expression(let filter, _): !filter.isIndexed
    }
  }
}

/// The operations that a list shows, in which order.
package struct QueueListing: Hashable, Sendable {
  package enum Order: Hashable, Sendable, CaseIterable {
    /// Failed, conflicts, sending and unconfirmed, retrying, pending, paused; each oldest first.
    case worst
    case oldest
    case newest
  }

  package var filter = ListFilter.none
  /// Only operations in these states; empty: in any.
  package var states: Set<OperationState> = []
  package var order = Order.worst

  package init() {}

  /// - Parameter text: the filter as it was typed.
  package init(matching filter: QueueFilter?, text: String = "", order: Order = .worst) {
    if let filter { self.filter = .expression(filter, text: text) }
    self.order = order
  }

  private static let worstFirst: [OperationState] = [.failed, .conflict, .inFlight, .waiting, .pending, .paused]

  /// The parts of the list in their order, by the states of their operations. Each part is in the order of the numbers.
  var parts: [[OperationState]] {
    let shown = Self.worstFirst.filter { states.isEmpty || states.contains($0) }
    return order == .worst ? shown.map { [$0] } : [shown]
  }

  var isDescending: Bool { order == .newest }

  /// The states of the operations that it shows and a command changes.
  func states(for verb: QueueVerb) -> Set<OperationState> {
    states.isEmpty ? verb.states : states.intersection(verb.states)
  }

  /// The listing as written to the audit log.
  var text: String { condition.map { "all that match \($0)" } ?? "all" }

  /// The condition for its operations, in the syntax of `--where` except for words in quotes; nil for all operations.
  package var condition: String? {
    var conditions: [String] = []
    if !states.isEmpty {
      conditions.append("state in (\(parts.joined().map { "'\(Words.state($0.rawValue))'" }.joined(separator: ", ")))")
    }
    switch filter {
    case .none: break
    case .words(let words): conditions.append("'\(words.joined(separator: " "))'")
    case .expression(_, let text): conditions.append(conditions.isEmpty ? text : "(\(text))")
    }
    return conditions.isEmpty ? nil : conditions.joined(separator: " and ")
  }
}

/// The records that a list shows, in which order.
package struct RecordListing: Hashable, Sendable {
  package enum Order: Hashable, Sendable {
    /// Unsent changes first, the latest first; then the latest change on the server.
    case newest
    /// By zone, owner and name.
    case name
    /// By the value of a field; records without it last. Only the first 10,000 are listed.
    case field(String, isDescending: Bool)
  }

  package var filter = ListFilter.none
  package var order = Order.newest

  package init() {}

  /// Whether the records have to be looked at one by one.
  package var isSearch: Bool { filter != .none || field != nil }

  /// The fields by which they are selected and ordered, in lower case.
  package var fields: Set<String> {
    let selecting: Set<String> = if case .expression(let filter, _) = filter { filter.fields } else { [] }
    return selecting.union(field.map { [$0.name.lowercased()] } ?? [])
  }

  /// The field by whose value they are ordered.
  var field: (name: String, isDescending: Bool)? {
    if case .field(let name, let isDescending) = order { (name, isDescending) } else { nil }
  }
}

/// The dropped changes that a list shows, newest first: those that can be undone.
package struct DroppedListing: Hashable, Sendable {
  /// Dropped changes are found by words only.
  package var filter = ListFilter.none
  /// The last change that a person had seen when the list was opened: unseen ones after it are listed too, even if they
  /// can no longer be undone. Nil: only what can be undone.
  package var seenThrough: Int64?

  package init() {}
}

/// The zones that a list shows: those that need a look first, then by name.
package struct ZoneListing: Hashable, Sendable {
  /// Zones are found by words only.
  package var filter = ListFilter.none

  package init() {}
}

/// The events that a list shows, newest first.
package struct EventListing: Hashable, Sendable {
  package var filter = ListFilter.none
  /// Only the events of a time, in milliseconds since 1970; nil: of all times.
  package var time: Range<Int64>?

  package init() {}
}

/// A record as the local copy has it, with everything that waits for it.
package struct RecordDetail: Hashable, Sendable {
  /// The server's version; nil if the local copy has none.
  package var server: MirrorRecord?
  /// The record with its queued change applied; nil if it is deleted here.
  package var row: RecordRow?
  /// Its queued change.
  package var operation: QueuedOperation?
}

extension RecordRow: Identifiable {
  package var id: RecordKey { record.key }
}

extension String {
  /// Whether a comparison follows the name of a field.
  fileprivate var comparesField: Bool { contains(#/(^|[\s(])[A-Za-z_]\w*\s*([=<>]|!=|(not\s+)?like\s+['"]|in\s*\()/#) }

  /// The text in the quotes; nil if it is not quoted as a whole.
  fileprivate var unquoted: String? {
    guard count > 2, let quote = first, "'\"".contains(quote), last == quote else { return nil }
    let inner = String(dropFirst().dropLast())
    return inner.contains(quote) ? nil : inner
  }
}

/// A query for the queue list.
package struct ListQuery: Hashable, Sendable {
  package var filter: QueueFilter?
  /// Texts that all have to be in what lists show of an operation, or in a value that it sets.
  package var words: [String] = []
  package var now: Int64
}

/// The number of records by zone name and type.
package struct RecordTotal: Hashable, Sendable {
  package var zone: String
  package var type: String
  package var count: Int
}

/// A part of a list with its total number of rows, so that a screen can scroll without loading all.
package struct Window<Element: Sendable & Hashable>: Sendable, Hashable {
  package var total: Int
  package var offset: Int
  package var rows: [Element]

  package init(total: Int, offset: Int, rows: [Element]) {
    self.total = total
    self.offset = offset
    self.rows = rows
  }

  package static var empty: Window { Window(total: 0, offset: 0, rows: []) }
}
