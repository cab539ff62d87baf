import CloudSync

/// Moves on from resolved conflicts. The view stays open after the last one, so that further keys do not act on the
/// panes below.
extension ViewState.Desk {
  /// The conflicts that are not resolved yet.
  func open(_ conflicts: [Conflict]) -> [Conflict] { conflicts.filter { !resolved.contains($0.id) } }

  /// The view after its conflict was resolved: on the next open one, or unchanged if there is none.
  func next(among conflicts: [Conflict]) -> ViewState.Desk {
    var desk = self
    desk.resolved.insert(conflict)
    let index = conflicts.firstIndex { $0.id == conflict } ?? 0
    let rest = desk.open(Array(conflicts[index...] + conflicts[..<index]))
    return rest.first.map { desk.turned(to: $0.id) } ?? desk
  }

  /// Applies a new snapshot: forgets resolved conflicts that it no longer has, so that they may occur again.
  mutating func follow(_ conflicts: [Conflict]) { resolved.formIntersection(conflicts.map(\.id)) }
}
