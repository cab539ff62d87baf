import Dashboard
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
  var hasMouse = true
  var view = Preferences.StartView.overview
  var keys = KeyMap.standard

  /// Reads the table; nil: the file has none.
  ///
  /// - Parameters:
  ///   - text: the whole file, in which an error finds its line.
  ///   - path: its path, for errors.
  init(_ value: (any TOMLValueConvertible)?, text: String, path: String) throws(CommandFailure) {
    func failure(_ message: String, _ keys: String...) -> CommandFailure {
      let place = (["dashboard"] + keys)
      let line = TOMLPlace.line(of: place, in: text).map { " line \($0)" } ?? ""
      return .usage("\(path)\(line): \(place.joined(separator: ".")) \(message)")
    }
    guard let value else { return }
    guard let table = value.table else { throw failure("must be a table; write [dashboard]") }
    for key in table.keys.sorted() {
      switch key {
      case "mouse":
        guard let flag = table[key]?.bool else { throw failure("must be true or false, without quotes", key) }
        hasMouse = flag
      case "view":
        guard let view = Preferences.StartView(rawValue: table[key]?.string ?? "") else {
          let known = Preferences.StartView.allCases.map(\.rawValue).joined(separator: ", ")
          throw failure("must be one of \(known)", key)
        }
        self.view = view
      case "keys":
        guard let keys = table[key]?.table else { throw failure("must be a table; write [dashboard.keys]", key) }
        var own: [String: [String]] = [:]
        for command in keys.keys {
          let one = keys[command]?.string.map { [$0] }
          let several = keys[command]?.array.map { $0.map(\.string) }
          guard let names = one ?? several.flatMap({ $0.contains(nil) ? nil : $0.compactMap(\.self) }) else {
            throw failure("must be a key such as \"r\", or a list of keys", key, command)
          }
          own[command] = names
        }
        do {
          self.keys = try KeyMap(own: own)
        } catch {
          throw failure(error.message, key, error.command)
        }
      default: throw failure("is not a setting; the settings are mouse, view and keys", key)
      }
    }
  }
}
