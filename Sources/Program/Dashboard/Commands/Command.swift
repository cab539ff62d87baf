import CloudService
import TerminalUI

/// The name of a command, as configuration files write it.
struct CommandID: Hashable, Sendable, ExpressibleByStringLiteral {
  let rawValue: String

  init(_ rawValue: String) { self.rawValue = rawValue }
  init(stringLiteral name: String) { self.init(name) }
}

/// The commands that other code names. Any other has its name where it is made.
extension CommandID {
  // Everywhere
  static let freeze: Self = "freeze", back: Self = "back", quit: Self = "quit", palette: Self = "palette"
  static let help: Self = "help", redraw: Self = "redraw"
  // Syncing
  static let syncOnce: Self = "syncOnce", keepSyncing: Self = "keepSyncing", flush: Self = "flush"
  static let pauseAll: Self = "pauseAll", conflicts: Self = "conflicts"
  // Questions
  static let yes: Self = "yes", no: Self = "no"
  // Moving
  static let down: Self = "down", up: Self = "up", pageDown: Self = "pageDown", pageUp: Self = "pageUp"
  static let halfDown: Self = "halfDown", halfUp: Self = "halfUp", top: Self = "top", bottom: Self = "bottom"
  // Lists
  static let filter: Self = "filter", problems: Self = "problems", order: Self = "order", copy: Self = "copy"
  static let export: Self = "export", undo: Self = "undo", open: Self = "open", markRange: Self = "markRange"
  static let markAll: Self = "markAll", invertMarks: Self = "invertMarks"
  // Queue
  static let retry: Self = "retry", retryAll: Self = "retryAll", pauseThese: Self = "pauseThese"
  static let discard: Self = "discard", edit: Self = "edit", causes: Self = "causes"
  // Conflicts
  static let nextConflict: Self = "nextConflict", fieldLocal: Self = "fieldLocal", fieldServer: Self = "fieldServer"
  static let fieldBase: Self = "fieldBase", allLocal: Self = "allLocal", allServer: Self = "allServer"
  static let allBase: Self = "allBase", allNewest: Self = "allNewest", resolve: Self = "resolve"
  // Columns of records, fields of a change
  static let columns: Self = "columns", editField: Self = "editField", saveEdit: Self = "saveEdit"
  static let wholeValue: Self = "wholeValue"
  // Undo, zones
  static let restore: Self = "restore", acceptDeletions: Self = "acceptDeletions"
  static let restoreDeletions: Self = "restoreDeletions"
  // The demo's
  static let demo: Self = "demo", nextCard: Self = "nextCard"
}

/// A command: its name and keys, where it works, whether it would do something now, what it asks, and what it does.
struct Command: Sendable {
  let id: CommandID
  var keys: [Key]
  /// The label in the footer and the palette; empty for moving in a list, which neither shows.
  let title: String
  /// The help with `KEY` in place of the command's own key, which can be changed.
  private let helpPattern: String
  let scopes: KeyScope
  private(set) var traits: Traits = []
  private(set) var footer: Footer
  /// Returns the label where it differs from the title.
  private(set) var label: @Sendable (App, World) -> String? = { _, _ in nil }
  /// Returns why it would do nothing now, as a sentence without a full stop; nil if it would do something.
  private(set) var refusal: @Sendable (App, World) -> String? = { _, _ in nil }
  /// Returns the question whose answer decides; nil: it runs at once.
  private(set) var question: @Sendable (App, World) -> CommandQuestion? = { _, _ in nil }
  private(set) var run: @Sendable (inout App, World) -> [Step] = { _, _ in [] }

  /// Properties that several commands share.
  struct Traits: OptionSet, Sendable {
    let rawValue: Int
    /// It changes something, and is refused in read-only mode.
    static let change = Traits(rawValue: 1)
    /// It answers a question or carries out what was prepared, which pasted text must not do.
    static let decides = Traits(rawValue: 2)
    /// It leaves the view, which must not lose edits.
    static let leaves = Traits(rawValue: 4)
    /// Its keys are found however others are set: the safe answers, and the ways out.
    static let fixed = Traits(rawValue: 8)
  }

  /// The position of a command in the footer.
  enum Footer: Hashable, Sendable {
    /// Before all others.
    case first
    /// After those, where there is little room.
    case second
    case usual
    /// Not on the overview, where the keys for the whole store matter more.
    case inFull
    case never
  }

  /// - Parameters:
  ///   - keys: the names of the keys, with blanks between them.
  ///   - help: the effect of the command; `KEY` in it stands for the first of its keys.
  init(_ id: CommandID, _ keys: String, _ title: String, _ help: String, _ scopes: KeyScope, _ traits: Traits = []) {
    (self.id, self.title, helpPattern, self.scopes, self.traits) = (id, title, help, scopes, traits)
    self.keys = keys.split(separator: " ").compactMap { Key(named: String($0)) }
    footer = scopes.contains(.everywhere) ? .never : .usual
  }

  /// The effect of the command, in one sentence without a full stop.
  var help: String { helpPattern.replacing("KEY", with: keys.first?.name ?? "") }

  /// The names of its keys: "PgDn", "Ctrl-D".
  var keyNames: String { keys.map(\.name).joined(separator: " ") }

  var isChange: Bool { traits.contains(.change) }

  static func of(_ id: CommandID) -> Command {
    guard let command = byID[id] else { preconditionFailure("The registry has no command \(id.rawValue).") }
    return command
  }

  private static let byID = Dictionary(uniqueKeysWithValues: registry.map { ($0.id, $0) })
}

extension Command: Hashable {
  static func == (first: Command, second: Command) -> Bool { first.id == second.id && first.keys == second.keys }

  func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(keys)
  }
}

/// Adds the effect of a command to its name. A closure or method about a screen acts on the top one.
extension Command {
  private func with(_ change: (inout Command) -> Void) -> Command {
    var command = self
    change(&command)
    return command
  }

  func footer(_ footer: Footer) -> Command { with { $0.footer = footer } }
  func label(_ label: @escaping @Sendable (App, World) -> String?) -> Command { with { $0.label = label } }
  func unless(_ refusal: @escaping @Sendable (App, World) -> String?) -> Command { with { $0.refusal = refusal } }
  func ask(_ question: @escaping @Sendable (App, World) -> CommandQuestion?) -> Command {
    with { $0.question = question }
  }
  func run(_ run: @escaping @Sendable (inout App, World) -> [Step]) -> Command { with { $0.run = run } }

  func label<Top: Screen>(_ label: @escaping @Sendable (Top, World) -> String?) -> Command {
    self.label { app, world in (app.top as? Top).flatMap { label($0, world) } }
  }

  func unless<Top: Screen>(_ refusal: @escaping @Sendable (Top) -> (World) -> String?) -> Command {
    unless { app, world in (app.top as? Top).flatMap { refusal($0)(world) } }
  }

  func ask<Top: Screen>(_ question: @escaping @Sendable (Top, World) -> CommandQuestion?) -> Command {
    ask { app, world in (app.top as? Top).flatMap { question($0, world) } }
  }

  func run<Top: Screen>(_ run: @escaping @Sendable (inout Top, World) -> [Step]) -> Command {
    self.run { app, world in
      guard var top = app.above.last as? Top else { return [] }
      defer { app.above[app.above.count - 1] = top }
      return run(&top, world)
    }
  }

  /// Leaves the command alone on causes, whose rows are not changes.
  func notOnCauses() -> Command {
    let refusal = refusal
    return unless { app, world in app.notOfCauses ?? refusal(app, world) }
  }

  /// Acts on the list of the top screen, which shows so many rows.
  func onRows(_ act: @escaping @Sendable (inout any ListActions, World, Int) -> [Step]) -> Command {
    let command = scopes.contains(.queue) ? notOnCauses() : self
    return command.run { app, world in
      let visible = app.top.visible(world)
      guard var rows = app.rows else { return [] }
      defer { app.rows = rows }
      return act(&rows, world, visible)
    }
  }
}
