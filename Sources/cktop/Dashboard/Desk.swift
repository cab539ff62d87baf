import CloudSync

extension ViewState {
  /// The conflict desk: which conflict, which field, and what has been chosen so far, also of the other conflicts.
  struct Desk: Hashable, Sendable {
    /// A side, with what was shown when it was taken: it counts for as long as that is shown.
    private struct Choice: Hashable, Sendable {
      var side: ConflictSide
      var field: Conflict.Field
      var isDeletedOnServer: Bool
    }

    private(set) var conflict: Int64
    var field = 0
    private var choices: [Int64: [String: Choice]] = [:]
    /// Conflicts that were resolved here, until the store shows them no more.
    var resolved: Set<Int64> = []

    init(conflict: Int64) { self.conflict = conflict }

    /// The sides chosen of a conflict as it is now, by field.
    func sides(_ conflict: Conflict) -> [String: ConflictSide] {
      var sides: [String: ConflictSide] = [:]
      for field in conflict.fields {
        guard let choice = choices[conflict.id]?[field.name], choice.field == field,
          choice.isDeletedOnServer == conflict.isDeletedOnServer
        else { continue }
        sides[field.name] = choice.side
      }
      return sides
    }

    private mutating func choose(_ side: ConflictSide, _ field: Conflict.Field, of conflict: Conflict) {
      let choice = Choice(side: side, field: field, isDeletedOnServer: conflict.isDeletedOnServer)
      choices[conflict.id, default: [:]][field.name] = choice
    }

    /// The desk with another conflict on it.
    func turned(to conflict: Int64) -> Desk {
      var desk = self
      desk.conflict = conflict
      desk.field = 0
      return desk
    }

    /// What a key on the desk comes to.
    enum Result: Hashable, Sendable {
      case choose(Desk)
      case settle([String: ConflictSide])
      /// A field has no choice yet.
      case incomplete
      case move(Int)
    }

    func pressed(_ command: DashboardCommand, _ conflict: Conflict) -> Result {
      var desk = self
      func choose(_ side: ConflictSide) -> Result {
        guard conflict.fields.indices.contains(field) else { return .choose(desk) }
        desk.choose(side, conflict.fields[field], of: conflict)
        desk.field = min(field + 1, conflict.fields.count - 1)
        return .choose(desk)
      }
      func chooseAll(_ side: ConflictSide) -> Result {
        for field in conflict.fields { desk.choose(side, field, of: conflict) }
        return .choose(desk)
      }
      switch command {
      case .fieldLocal: return choose(.local)
      case .fieldServer: return choose(.server)
      case .fieldBase: return choose(.base)
      case .allLocal: return chooseAll(.local)
      case .allServer: return chooseAll(.server)
      case .nextConflict: return .move(1)
      case .previousConflict: return .move(-1)
      default:
        let sides = sides(conflict)
        return sides.count == conflict.fields.count ? .settle(sides) : .incomplete
      }
    }
  }
}
