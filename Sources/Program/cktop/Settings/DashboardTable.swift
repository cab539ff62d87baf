import Dashboard
import Facts
import TOMLKit
import TerminalUI

/// The `[dashboard]` table of the configuration file.
///
/// ```toml
/// [dashboard]
/// mouse = true
/// view = "queue"
/// [dashboard.keys]
/// retry = ["r", "F5"]
/// ```
struct DashboardTable: Hashable, Sendable {
  private(set) var preferences = Preferences()
  /// The names of the settings that the table has.
  private var names: Set<String> = []

  /// The table of a file that has none.
  init() {}

  /// Reads the table; nil: the file has none.
  ///
  /// - Parameters:
  ///   - text: the whole file, in which an error finds its line.
  ///   - path: its path, for errors.
  init(_ value: (any TOMLValueConvertible)?, text: String, path: String) throws(CommandFailure) {
    func failure(_ message: String, _ keys: String...) -> CommandFailure {
      let place = (["dashboard"] + keys)
      let line = TOMLPlaces(text).line(of: place).map { " line \($0)" } ?? ""
      return .usage("\(path)\(line): \(place.joined(separator: ".").excerpt) \(message)")
    }
    guard let value else { return }
    guard let table = value.table else { throw failure("must be a table; write [dashboard]") }
    names = Set(table.keys)
    for key in table.keys.sorted() where key != "keys" {
      let settings = Preferences.settings
      guard let setting = settings.first(where: { $0.name == key }) else {
        let known = settings.map(\.name).joined(separator: ", ")
        let near = Words.nearest(to: key, among: settings.map(\.name) + ["keys"])
        let remedy = near.map { "did you mean \($0)?" } ?? "the settings are \(known) and keys"
        throw failure("is not a setting; \(remedy)", key)
      }
      let text = setting.isFlag ? table[key]?.bool.map { String($0) } : table[key]?.string
      guard let text, setting.choices.contains(text) else {
        let choices = setting.choices.joined(separator: ", ")
        throw failure(setting.isFlag ? "must be true or false, without quotes" : "must be one of \(choices)", key)
      }
      setting.set(&preferences, text)
    }
    guard names.contains("keys") else { return }
    guard let keys = table["keys"]?.table else { throw failure("must be a table; write [dashboard.keys]", "keys") }
    var own: [String: [String]] = [:]
    for command in keys.keys {
      let one = keys[command]?.string.map { [$0] }
      let several = keys[command]?.array.map { $0.map(\.string) }
      guard let names = one ?? several.flatMap({ $0.contains(nil) ? nil : $0.compactMap(\.self) }) else {
        throw failure("must be a key such as \"r\", or a list of keys", "keys", command)
      }
      own[command] = names
    }
    do {
      preferences.keys = try KeyMap(own: own)
    } catch {
      throw failure(error.message, "keys", error.command)
    }
  }

  /// The settings in effect and their sources.
  ///
  /// - Parameter path: the file's path.
  func report(_ path: String) -> [SettingLine] {
    Preferences.settings.map { setting in
      let name = "dashboard.\(setting.name)"
      let source = names.contains(setting.name) ? "\(name) in \(path)" : "default"
      return SettingLine(setting: name, value: setting.value(preferences), source: source)
    }
  }
}
