import CloudSync

/// Moving on from conflicts that are resolved. The view stays open when the last one is, so that keys in flight do nothing
/// elsewhere.
extension ViewState.Desk {
  /// Those of the conflicts that are still to be resolved.
  func open(_ conflicts: [Conflict]) -> [Conflict] { conflicts.filter { !resolved.contains($0.id) } }

  /// The view after its conflict was resolved: on the next open one, or as it is where there is none.
  func next(among conflicts: [Conflict]) -> ViewState.Desk {
    var desk = self
    desk.resolved.insert(conflict)
    let index = conflicts.firstIndex { $0.id == conflict } ?? 0
    let rest = desk.open(Array(conflicts[index...] + conflicts[..<index]))
    return rest.first.map { desk.turned(to: $0.id) } ?? desk
  }

  /// Follows the store: a conflict that it shows no more may come again later.
  mutating func follow(_ conflicts: [Conflict]) { resolved.formIntersection(conflicts.map(\.id)) }
}
