import CloudService
import CloudSync
import Facts
import TerminalUI

/// A list as commands act on it, whatever its rows are.
protocol ListActions: Sendable {
  /// The fields that are shown in columns of their own.
  var columns: [String] { get set }
  func subject(_ world: World) -> Subject
  func exported(_ world: World) -> [Step]
  /// The fields that can be shown in columns.
  func fieldNames(_ world: World) -> [String]
  func noProblems(_ world: World) -> String?
  mutating func move(_ id: CommandID, _ world: World, visible: Int)
  mutating func beginFilter() -> [Step]
  mutating func toggleProblems()
  mutating func nextOrder() -> [Step]
  mutating func show(_ states: Set<OperationState>)
  mutating func mark(_ id: CommandID, _ world: World, visible: Int) -> [Step]
  mutating func unmark()
  mutating func use(_ world: World, visible: Int) -> Bool
  mutating func goOn(_ step: Int, _ world: World, visible: Int) -> [Step]
}

extension RowList: ListActions {
  func subject(_ world: World) -> Subject {
    let (row, missing) = (selected(world), "No \(Kind.noun) is selected")
    return Subject(
      missing: row == nil ? missing : nil,
      operations: Kind.operations(self, world),
      change: row as? QueueRow,
      open: row.map { Kind.opening($0, world) } ?? .none(missing),
      copy: Offer(refusal: row == nil ? missing : nil, copied(world))
    )
  }

  /// Copies lines of the marked rows, else of the selected one; of one alone what a ticket needs, where it has that.
  private func copied(_ world: World) -> [Step] {
    guard let rows = targets(world) else {
      return [.failure("Too many marked rows to copy; \(world.keys.name(of: .export)) writes them to a file")]
    }
    if rows.count == 1, let id = Kind.ticket(of: rows[0]) { return [.effect(.copyTicket(id))] }
    return rows.isEmpty ? [] : [.effect(.copy(rows.map { Kind.line($0, world) }.joined(separator: "\n")))]
  }

  func exported(_ world: World) -> [Step] {
    if let export = Kind.export(self, world) { return [.effect(.export(export))] }
    let key = world.keys.name(of: .markAll)
    return [.failure("A marked \(Kind.noun) is no longer in the list; filter it and mark all with \(key)")]
  }

  func fieldNames(_ world: World) -> [String] { Kind.fieldNames(self, world) }
  func noProblems(_ world: World) -> String? { Kind.noProblems(self, world) }

  mutating func move(_ id: CommandID, _ world: World, visible: Int) {
    state.move(by: id, rows(world), visible: visible)
  }

  mutating func toggleProblems() { Kind.toggleProblems(&self) }
  mutating func show(_ states: Set<OperationState>) { Kind.show(states, in: &self) }

  mutating func nextOrder() -> [Step] {
    guard let next = Kind.nextOrder(self) else { return [] }
    list(next.listing)
    return [.notice("Order: \(next.name)")]
  }

  /// Marks as a command says.
  mutating func mark(_ id: CommandID, _ world: World, visible: Int) -> [Step] {
    switch id {
    case .markAll: state.toggleAll()
    case .invertMarks: state.invertMarks()
    case .markRange: return markRange(world)
    default: state.toggleMark(rows(world), visible: visible)
    }
    return []
  }

  private mutating func markRange(_ world: World) -> [Step] {
    switch state.markRange(rows(world)) {
    case .begun: [.notice("Range begun; move, then \(world.keys.name(of: .markRange)) marks up to there")]
    case .marked: []
    case .unread:
      [.failure("The range is too long; filter the list and mark all with \(world.keys.name(of: .markAll))")]
    }
  }

  mutating func unmark() { state.marks = .some([:]) }

  /// Uses up the marks for a command; without marks, the selected row, and goes to the next. Returns false if a command
  /// was given for that row already.
  mutating func use(_ world: World, visible: Int) -> Bool {
    guard state.marks.isEmpty else {
      unmark()
      return true
    }
    guard let row = selected(world), acted[row.id] != Kind.version(of: row) else { return false }
    acted[row.id] = Kind.version(of: row)
    state.move(to: state.cursor + 1, rows(world), visible: visible)
    return true
  }

  /// Moves to the next match, or to the next row for a person in a list without a filter.
  mutating func goOn(_ step: Int, _ world: World, visible: Int) -> [Step] {
    let (rows, page) = (rows(world), page(world))
    var next = state.cursor + step
    while let row = page?[next], !isFiltered, !Kind.isProblem(row) { next += step }
    guard (0..<rows.total).contains(next) else {
      let what = isFiltered ? "match" : "row that needs you"
      return [.notice("No \(what) \(step > 0 ? "below" : "above"); \(world.keys.name(of: .filter)) filters")]
    }
    let isRead = isFiltered || page?[next] != nil
    state.move(to: next, rows, visible: visible)
    // The rows further on have not been read yet.
    return isRead ? [] : [.notice("Nothing so far that needs you; press the key again to go on from here")]
  }
}
