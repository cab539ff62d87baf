import CloudKit
import Foundation
import TOMLKit

/// The configuration file: settings at the top, and tables of them under `[profiles.NAME]`.
///
/// ```toml
/// container = "iCloud.org.example.App"
/// [profiles.live]
/// environment = "production"
/// ```
struct ConfigurationFile: Hashable, Sendable {
  let path: String
  /// The settings at the top level, as text.
  private(set) var settings: [SettingKey: String] = [:]
  private(set) var profiles: [String: [SettingKey: String]] = [:]
  /// The text, from which the dashboard's table is read when it is needed.
  private let text: String

  /// `$XDG_CONFIG_HOME/cktop/config.toml`, or `~/.config/cktop/config.toml`.
  static func path(_ environment: [String: String]) -> String {
    BaseDirectory.config.path(environment) + "/cktop/config.toml"
  }

  /// Reads the file of an environment; nil if there is none.
  static func read(_ environment: [String: String]) throws(CommandFailure) -> ConfigurationFile? {
    let path = path(environment)
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
      throw .usage("\(path) cannot be read as text; correct the file or its permissions")
    }
    return try ConfigurationFile(text, path: path, home: BaseDirectory.home(environment))
  }

  /// Parses the file's text. Paths in it are relative to its directory, and `~/` is `home`.
  init(_ text: String, path: String, home: String) throws(CommandFailure) {
    (self.path, self.text) = (path, text)
    let table = try Self.table(text, path)
    for key in table.keys.sorted() {
      guard let value = table[key] else { continue }
      if key == "profiles" {
        try readProfiles(value, home)
      } else if key != "dashboard" {
        let (setting, text) = try read(key, value, "", home)
        settings[setting] = text
      }
    }
  }

  /// The settings of the dashboard. A mistake in them stops no other command.
  func dashboard() throws(CommandFailure) -> DashboardTable {
    try DashboardTable(Self.table(text, path)["dashboard"], text: text, path: path)
  }

  private mutating func readProfiles(_ value: any TOMLValueConvertible, _ home: String) throws(CommandFailure) {
    guard let tables = value.table else { throw .usage("\(path): profiles is not a table; write [profiles.NAME]") }
    for name in tables.keys.sorted() {
      guard let table = tables[name]?.table else {
        throw .usage("\(path): profiles.\(name) is not a table; write [profiles.\(name)]")
      }
      var profile: [SettingKey: String] = [:]
      for key in table.keys.sorted() {
        guard let value = table[key] else { continue }
        let (setting, text) = try read(key, value, "profiles.\(name).", home)
        guard setting != .profile else {
          throw .usage("\(path): profiles.\(name) names a profile; only the top level of the file may")
        }
        profile[setting] = text
      }
      profiles[name] = profile
    }
  }

  private func read(
    _ key: String,
    _ value: any TOMLValueConvertible,
    _ prefix: String,
    _ home: String
  ) throws(CommandFailure) -> (SettingKey, String) {
    guard let setting = SettingKey(rawValue: key) else {
      let known = SettingKey.allCases.filter { $0.row.kind != .secret }
      let list = known.map(\.rawValue).joined(separator: ", ")
      throw .usage(
        "\(path): there is no setting '\(prefix)\(key)'; the settings are \(list), [profiles.NAME] and [dashboard]"
      )
    }
    if setting.row.kind == .secret {
      throw .usage(
        "\(path): \(prefix)\(key) does not belong in a file; set \(setting.row.variable) in the environment"
      )
    }
    if setting.row.kind == .flag {
      guard let flag = value.bool else {
        throw .usage("\(path): \(prefix)\(key) must be true or false, without quotes")
      }
      return (setting, flag ? "true" : "false")
    }
    guard let text = value.string else { throw .usage("\(path): \(prefix)\(key) must be a string in quotes") }
    return (setting, setting.row.kind == .path ? absolute(text, home) : text)
  }

  private func absolute(_ text: String, _ home: String) -> String {
    if text.isEmpty || text.hasPrefix("/") { return text }
    if text == "~" || text.hasPrefix("~/") { return home + text.dropFirst() }
    return (path as NSString).deletingLastPathComponent + "/" + text
  }

  private static func table(_ text: String, _ path: String) throws(CommandFailure) -> TOMLTable {
    // The parser takes a C string and would silently stop at a NUL.
    guard !text.unicodeScalars.contains("\0") else { throw .usage("\(path): contains a NUL character; remove it") }
    do {
      return try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      let position = "line \(error.source.begin.line), column \(error.source.begin.column)"
      throw .usage("\(path) \(position): \(error.description); correct the file")
    } catch {
      throw .usage("\(path): not TOML; correct the file")
    }
  }
}
