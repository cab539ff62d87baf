import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The conflicts: base, local and server side by side, and a side to choose for each field.
struct ConflictsScreen: Screen {
  /// A chosen side with the values shown at that time. It is valid while the values are unchanged.
  private struct Choice: Hashable, Sendable {
    var side: ConflictSide
    var field: Conflict.Field
    var isDeletedOnServer: Bool
  }

  /// The conflict that is shown; nil: the oldest.
  private(set) var conflictID: Int64?
  private(set) var field = 0
  /// The conflict that an undo opened again, to be shown once it is read.
  private var undone: Int64?
  private var choices: [Int64: [String: Choice]] = [:]
  /// Conflicts that were resolved here, each in the version that the store still shows.
  private(set) var resolved: [Int64: String] = [:]

  /// The screen on a conflict; nil: on the oldest.
  func showing(_ id: Int64?) -> ConflictsScreen {
    var screen = self
    (screen.conflictID, screen.field) = (id, 0)
    return screen
  }

  var title: String? { "Conflicts" }
  var scopes: KeyScope { [.everywhere, .conflicts, .fields, .copying, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.conflicts = 500
    return scope
  }

  /// The conflicts that are not resolved yet.
  func open(_ world: World) -> [Conflict] {
    (world.data.conflicts?.rows ?? []).filter { resolved[$0.id] != $0.version }
  }

  func conflict(_ world: World) -> Conflict? {
    let all = open(world)
    return all.first { $0.id == conflictID } ?? (conflictID == nil ? all.first : nil)
  }

  mutating func follow(_ world: World) {
    if let undone, open(world).contains(where: { $0.id == undone }) {
      (conflictID, field, self.undone) = (undone, 0, nil)
    }
    guard let conflicts = world.data.conflicts else { return }
    let versions = Dictionary(conflicts.rows.map { ($0.id, $0.version) }) { first, _ in first }
    resolved = resolved.filter { versions[$0.key] == $0.value }
    if conflictID == nil { conflictID = open(world).first?.id }
    field = max(0, min(field, (conflict(world)?.fields.count ?? 1) - 1))
  }

  /// A conflict that could not be resolved is open again.
  mutating func apply(_ receipt: Receipt) {
    switch receipt.command {
    case .undo, .undoAll:
      undone = receipt.result.restored.values.filter { $0.state == .conflict }.map(\.operation).max()
    default: break
    }
    guard receipt.failure != nil, case .resolve(let id, _, _, _, _) = receipt.command else { return }
    resolved[id] = nil
  }

  func isWaiting(_ world: World) -> Bool {
    world.data.conflicts == nil && world.readFailure == nil && world.status?.hasStore != false
  }

  // MARK: - Choosing

  /// The valid choices for a conflict, by field.
  func sides(_ conflict: Conflict) -> [String: ConflictSide] {
    conflict.fields.reduce(into: [:]) { sides, field in
      guard let choice = choices[conflict.id]?[field.name], choice.field == field,
        choice.isDeletedOnServer == conflict.isDeletedOnServer
      else { return }
      sides[field.name] = choice.side
    }
  }

  /// The fields whose values changed after a side was chosen, with the place of the change; nil if there are none.
  func outdated(_ conflict: Conflict) -> String? {
    let changes = conflict.fields.compactMap { field -> String? in
      guard let choice = choices[conflict.id]?[field.name] else { return nil }
      if choice.field.local != field.local { return "\(field.name) changed here" }
      let isSame = choice.field == field && choice.isDeletedOnServer == conflict.isDeletedOnServer
      return isSame ? nil : "\(field.name) changed on the server"
    }
    return changes.isEmpty ? nil : "\(changes.joined(separator: ", ")); choose again"
  }

  private mutating func choose(_ side: ConflictSide, _ fields: [Conflict.Field], of conflict: Conflict) {
    for field in fields {
      choices[conflict.id, default: [:]][field.name] = Choice(
        side: side,
        field: field,
        isDeletedOnServer: conflict.isDeletedOnServer
      )
    }
  }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    let all = open(world)
    guard all.indices.contains(row), all[row].id != conflictID else { return false }
    _ = show(all[row])
    return true
  }

  /// Selects a field, as a click on it does.
  mutating func select(field: Int, _ world: World) {
    if conflict(world)?.fields.indices.contains(field) == true { self.field = field }
  }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    id == .down || id == .up ? moveField(id == .down ? 1 : -1, world) : []
  }

  fileprivate mutating func moveField(_ step: Int, _ world: World) -> [Step] {
    if let conflict = conflict(world) { field = max(0, min(field + step, conflict.fields.count - 1)) }
    return []
  }

  /// Shows the conflict that many places further on; the first, if none is shown.
  fileprivate mutating func show(_ step: Int, _ world: World) -> [Step] {
    let all = open(world)
    guard let conflict = conflict(world), let index = all.firstIndex(of: conflict) else { return show(all.first) }
    return show(all[(index + step + all.count) % all.count])
  }

  /// Takes a side for the selected field, and goes to the next one.
  fileprivate mutating func take(_ side: ConflictSide, _ world: World) -> [Step] {
    guard let conflict = conflict(world), conflict.fields.indices.contains(field) else { return [] }
    choose(side, [conflict.fields[field]], of: conflict)
    return moveField(1, world)
  }

  fileprivate mutating func takeAll(_ side: ConflictSide, _ world: World) -> [Step] {
    if let conflict = conflict(world) { choose(side, conflict.fields, of: conflict) }
    return []
  }

  func subject(_ world: World) -> Subject {
    guard let conflict = conflict(world) else {
      return Subject(missing: Self.isNotShown, copy: .none(Self.isNotShown))
    }
    return Subject(copy: Offer([.effect(.copyTicket(conflict.id))])) {
      guard conflict.fields.indices.contains(field) else { return nil }
      return Self.row(conflict.fields[field], nil, conflict, world.format).whole
    }
  }

  private static let isNotShown = "No conflict is shown"
  func close(_ app: inout App) { app.conflicts = self }

  private mutating func show(_ conflict: Conflict?) -> [Step] {
    (conflictID, field) = (conflict?.id, 0)
    return []
  }

  private static func undecided(_ keys: KeyMap) -> String {
    func names(_ ids: CommandID...) -> String { ids.map(keys.name).joined(separator: ", ") }
    return "Choose a side first for every field (\(names(.fieldLocal, .fieldServer, .fieldBase))), "
      + "or for all at once (\(names(.allLocal, .allServer, .allBase, .allNewest)))"
  }

  func isDecided(_ conflict: Conflict) -> Bool { sides(conflict).count == conflict.fields.count }

  fileprivate mutating func resolve(_ world: World) -> [Step] {
    let all = open(world)
    guard let conflict = conflict(world), let index = all.firstIndex(of: conflict) else { return [] }
    resolved[conflict.id] = conflict.version
    let rest = (all[index...] + all[..<index]).filter { $0.id != conflict.id }
    // After the last one its place stays, so that keys that follow do nothing elsewhere.
    if let next = rest.first { _ = show(next) }
    return [.effect(.give(.resolve(conflict.id, take: .server, fields: sides(conflict), version: conflict.version)))]
  }

  fileprivate func alike(_ world: World) -> CommandQuestion? {
    guard let conflict = conflict(world) else { return nil }
    let alike = Self.alike(conflict, open(world))
    let versions = Dictionary(uniqueKeysWithValues: alike.map { ($0.id, Optional($0.version)) })
    return .resolve(versions, take: .server, fields: sides(conflict), type: conflict.type)
  }

  /// The conflicts of the same kind and type in which the same fields differ.
  static func alike(_ conflict: Conflict, _ all: [Conflict]) -> [Conflict] {
    all.filter { other in
      other.type == conflict.type && other.kind == conflict.kind
        && other.isDeletedOnServer == conflict.isDeletedOnServer
        && other.fields.map(\.name) == conflict.fields.map(\.name)
    }
  }

  /// Why the conflict cannot be resolved as chosen; nil if it can.
  fileprivate func undecided(_ world: World) -> String? {
    guard let conflict = conflict(world) else { return Self.isNotShown }
    return isDecided(conflict) ? nil : outdated(conflict)?.sentence ?? Self.undecided(world.keys)
  }

  /// Why the choice cannot be applied to others; nil if it can.
  fileprivate func unalike(_ world: World) -> String? {
    guard let conflict = conflict(world), isDecided(conflict) else { return undecided(world) }
    return Self.alike(conflict, open(world)).count > 1 ? nil : "No other conflict has this type and these fields"
  }

  fileprivate func isOnly(_ world: World) -> String? {
    if conflict(world) == nil { return open(world).isEmpty ? Self.isNotShown : nil }
    return open(world).count > 1 ? nil : "This is the only conflict"
  }
}

extension Command {
  static let conflicts: [Command] = [
    conflict(.fieldLocal, "l", "local", "Take this machine's value of the field") { $0.take(.local, $1) },
    conflict(.fieldServer, "s", "server", "Take the server's value of the field") { $0.take(.server, $1) },
    conflict(.fieldBase, "b", "base", "Take the value from before both changes") { $0.take(.base, $1) },
    conflict(.allLocal, "L", "all local", "Take this machine's value of every field") { $0.takeAll(.local, $1) },
    conflict(.allServer, "S", "all server", "Take the server's value of every field") { $0.takeAll(.server, $1) },
    conflict(.allBase, "B", "all base", "Take the values from before both changes") { $0.takeAll(.base, $1) },
    conflict(.allNewest, "M", "most recent", newest) { $0.takeAll(.newest, $1) },
    conflict(.resolve, "Enter", "resolve", resolving, [.change, .decides]) { $0.resolve($1) }
      .unless(ConflictsScreen.undecided).footer(.first),
    conflict("allAlike", "A", "apply to similar", alike) { _, _ in [] }.unless(ConflictsScreen.unalike).footer(.second)
      .ask { (conflicts: ConflictsScreen, world) in conflicts.alike(world) },
    conflict(.nextConflict, "n", "next", "Go to the next conflict", []) { $0.show(1, $1) }
      .unless(ConflictsScreen.isOnly),
    conflict("previousConflict", "N", "previous", "Go to the previous conflict", []) { $0.show(-1, $1) }
      .unless(ConflictsScreen.isOnly),
    conflict("nextField", "Tab", "field", "Go to the next field", []) { $0.moveField(1, $1) },
    conflict("previousField", "Shift-Tab", "previous field", "Go to the previous field", []) { $0.moveField(-1, $1) }
      .footer(.never),
  ]

  private static let newest = "Take the side that was edited last, for every field"
  private static let resolving = "Resolve the conflict as chosen, and go to the next"
  private static let alike = "Resolve all with this type and these fields alike (asks)"

  private static func conflict(
    _ id: CommandID,
    _ key: String,
    _ title: String,
    _ help: String,
    _ traits: Traits = .change,
    run: @escaping @Sendable (inout ConflictsScreen, World) -> [Step]
  ) -> Command {
    Command(id, key, title, help, .conflicts, traits).unless(ConflictsScreen.unselected).run(run)
  }
}
