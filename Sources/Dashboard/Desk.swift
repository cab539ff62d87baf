import CloudSync

extension ViewState {
  /// The state of the conflict view: the conflict, the field, and the sides chosen so far for all conflicts.
  struct Desk: Hashable, Sendable {
    /// A chosen side with the values shown at that time. It is valid while the values are unchanged.
    private struct Choice: Hashable, Sendable {
      var side: ConflictSide
      var field: Conflict.Field
      var isDeletedOnServer: Bool
    }

    private(set) var conflict: Int64
    var field = 0
    private var choices: [Int64: [String: Choice]] = [:]
    /// Conflicts that were resolved here and that the store still shows.
    var resolved: Set<Int64> = []

    init(conflict: Int64) { self.conflict = conflict }

    /// The valid choices for a conflict, by field.
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

    /// The view on another conflict.
    func turned(to conflict: Int64) -> Desk {
      var desk = self
      desk.conflict = conflict
      desk.field = 0
      return desk
    }

    /// The result of a key in the conflict view.
    enum Result: Hashable, Sendable {
      case choose(Desk)
      case resolve([String: ConflictSide])
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
        return sides.count == conflict.fields.count ? .resolve(sides) : .incomplete
      }
    }
  }
}
