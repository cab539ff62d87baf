import CloudService
import CloudSync
import Facts
import TerminalUI

/// The commands with their keys: those of the registry, or the user's own.
package struct KeyMap: Hashable, Sendable {
  /// The commands in the order of the registry.
  let commands: [Command]

  /// The keys of the registry.
  package static let standard = KeyMap(Command.registry)

  private init(_ commands: [Command]) { self.commands = commands }

  /// The problem of a key map from a configuration file.
  package struct Problem: Error, Hashable, Sendable {
    /// The command's name, as written.
    package var command: String
    /// The problem as a predicate: "is not a command".
    package var message: String
  }

  /// Creates the registry's keys with others for some commands.
  ///
  /// - Parameter own: the names of keys by the names of commands.
  /// - Throws: `Problem` if there is no such command or key, the command must keep its keys, or a key would have two
  ///   meanings on one screen.
  package init(own: [String: [String]]) throws(Problem) {
    var commands = Command.registry
    for (name, keys) in own.sorted(by: { $0.key < $1.key }) {
      guard let index = commands.firstIndex(where: { $0.id.rawValue == name }) else {
        let near = Words.nearest(to: name, among: commands.map(\.id.rawValue))
        let remedy = near.map { "did you mean \($0)?" } ?? "cktop help keys lists them"
        throw Problem(command: name, message: "is not a command; \(remedy)")
      }
      guard !commands[index].traits.contains(.fixed) else {
        throw Problem(command: name, message: "has keys that cannot be changed")
      }
      guard !keys.isEmpty else { throw Problem(command: name, message: "needs a key") }
      commands[index].keys = try keys.map { text throws(Problem) in
        guard let key = Key(named: text) else {
          let examples = "r, R, Ctrl-R, Alt-r, F5, Space, Enter, PgDn"
          throw Problem(
            command: name,
            message: "'\(text.excerpt)' is not a key that terminals send; keys are written as \(examples)"
          )
        }
        return key
      }
    }
    for command in commands where own[command.id.rawValue] != nil {
      guard let other = Self.command(sharingKeyWith: command, commands) else { continue }
      let key = command.keys.first(where: other.keys.contains)?.name ?? ""
      throw Problem(command: command.id.rawValue, message: "takes \(key), which is the key of \(other.id.rawValue)")
    }
    self.init(commands)
  }

  /// Another command that one of a command's keys would also name on some screen.
  private static func command(sharingKeyWith command: Command, _ commands: [Command]) -> Command? {
    commands.first { other in
      guard other.id != command.id, !Set(other.keys).isDisjoint(with: command.keys) else { return false }
      return KeyScope.ofScreens.contains { scopes in
        !scopes.isDisjoint(with: command.scopes) && !scopes.isDisjoint(with: other.scopes)
      }
    }
  }

  /// The command of a key on a screen; nil if the key means nothing there.
  func command(named key: Key, in scopes: KeyScope) -> Command? {
    commands.first { !$0.scopes.isDisjoint(with: scopes) && $0.keys.contains(key) }
  }

  /// The first key of a command.
  func key(of id: CommandID) -> Key { commands.first { $0.id == id }?.keys.first ?? .unknown }

  /// The name of the first key of a command, for sentences.
  func name(of id: CommandID) -> String { key(of: id).name }

  /// The lines of a list of all commands, with their names in the configuration file, their keys and what they do.
  package var lines: [(name: String, keys: String, help: String)] {
    commands.map { ($0.id.rawValue, $0.keyNames, $0.help) }
  }
}

extension KeyScope {
  /// The scopes of every screen, as they can occur.
  static let ofScreens: [KeyScope] = {
    let overviews = Pane.allCases.map { pane in
      var overview = Overview()
      overview.focus = pane
      return overview.scopes
    }
    let key = RecordKey(ZoneKey(zone: ""), "")
    let others: [any Screen] = [
      OperationScreen(0), RecordScreen(key), CausesScreen(), EditScreen(0), HelpScreen(for: App()),
      ValueScreen("", []), ColumnsScreen(chosen: [], names: []),
    ]
    let screens = others + ViewEntry.views.map { $0.screen(App()) }
    let all = overviews + screens.map(\.scopes)
    return all + zip(all, overviews.map { _ in false } + screens.map(\.isOverlay)).map { $1 ? $0 : $0.union(.demo) }
      + [Question(.retryAll(QueueListing(), filter: "")).scopes]
  }()
}
