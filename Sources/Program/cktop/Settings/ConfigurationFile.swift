import CloudSync
import Facts
import Foundation
import Glibc
import TOMLKit
import TerminalUI

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
    var status = stat()
    guard stat(path, &status) == 0 else {
      if [ENOENT, ENOTDIR].contains(errno) { return nil }
      // In a folder that may not be entered there may be settings.
      let reason = String(cString: strerror(errno))
      throw .usage("\(path) cannot be read: \(reason); correct its folder, or set XDG_CONFIG_HOME to another")
    }
    guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
      throw .usage("\(path) cannot be read as text; correct the file or its permissions")
    }
    return try ConfigurationFile(text, path: path)
  }

  /// Parses the file's text. Paths in it are relative to its directory.
  init(_ text: String, path: String) throws(CommandFailure) {
    (self.path, self.text) = (path, text)
    let table = try Self.table(text, path)
    for key in table.keys.sorted() {
      guard let value = table[key] else { continue }
      if key == "profiles" {
        try readProfiles(value)
      } else if key != "dashboard" {
        let (setting, text) = try read([key], value)
        settings[setting] = text
      }
    }
  }

  /// The file with the line of a key, such as `profiles`, `live`, `url`.
  func place(_ keys: [String]) -> String { TOMLPlaces(text).line(of: keys).map { "\(path) line \($0)" } ?? path }

  /// The settings of the dashboard. A mistake in them stops no other command.
  func dashboard() throws(CommandFailure) -> DashboardTable {
    try DashboardTable(Self.table(text, path)["dashboard"], text: text, path: path)
  }

  private mutating func readProfiles(_ value: any TOMLValueConvertible) throws(CommandFailure) {
    guard let tables = value.table else {
      throw .usage("\(place(["profiles"])): profiles is not a table; write [profiles.NAME]")
    }
    for name in tables.keys.sorted() {
      guard let table = tables[name]?.table else {
        let excerpt = name.excerpt
        throw .usage("\(place(["profiles", name])): profiles.\(excerpt) is not a table; write [profiles.\(excerpt)]")
      }
      var profile: [SettingKey: String] = [:]
      for key in table.keys.sorted() {
        guard let value = table[key] else { continue }
        let (setting, text) = try read(["profiles", name, key], value)
        guard setting != .profile else {
          let place = place(["profiles", name, key])
          throw .usage("\(place): profiles.\(name.excerpt) names a profile; only the top level of the file may")
        }
        profile[setting] = text
      }
      profiles[name] = profile
    }
  }

  /// - Parameter keys: the path of the value's key in the file.
  private func read(
    _ keys: [String],
    _ value: any TOMLValueConvertible
  ) throws(CommandFailure) -> (SettingKey, String) {
    let (name, key) = (keys.joined(separator: ".").excerpt, keys.last ?? "")
    // Only an error needs it.
    var place: String { self.place(keys) }
    guard let setting = SettingKey(rawValue: key) else {
      let known = SettingKey.allCases.filter { $0.row.kind != .secret }.map(\.rawValue)
      let list = "the settings are \(known.joined(separator: ", ")), [profiles.NAME] and [dashboard]"
      let near = Words.nearest(to: key, among: known + ["profiles", "dashboard"])
      throw .usage("\(place): there is no setting '\(name)'; \(near.map { "did you mean \($0)?" } ?? list)")
    }
    try setting.refuse(place, name, isFlag: value.bool != nil)
    if setting.row.kind == .flag { return (setting, value.bool == true ? "true" : "false") }
    guard let text = value.string else { throw .usage("\(place): \(name) must be a string in quotes") }
    return (setting, setting.row.kind == .path ? absolute(text) : text)
  }

  /// A path relative to the file's directory, unless its beginning says where it is; see `PathRule`.
  private func absolute(_ text: String) -> String {
    if text.isEmpty || "/~".contains(text[text.startIndex]) { return text }
    return (path as NSString).deletingLastPathComponent + "/" + text
  }

  private static func table(_ text: String, _ path: String) throws(CommandFailure) -> TOMLTable {
    // The parser takes a C string and would silently stop at a NUL.
    if let line = TOMLPlaces.lineOfNUL(in: text) {
      throw .usage("\(path) line \(line): contains a NUL character; remove it")
    }
    do {
      return try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      let begin = error.source.begin
      if let unquoted = UnquotedText(in: text, line: begin.line) {
        let setting = unquoted.key.split(separator: ".").last.flatMap { SettingKey(rawValue: String($0)) }
        try setting?.refuse("\(path) line \(begin.line)", unquoted.key.excerpt, isFlag: false)
        // One with an unknown key may be a secret with a mistyped name.
        throw .usage("\(path) line \(begin.line): \(unquoted.remedy(showsText: setting != nil))")
      }
      throw .usage("\(path) line \(begin.line), column \(begin.column): \(error.description); correct the file")
    } catch {
      throw .usage("\(path): not TOML; correct the file")
    }
  }
}

extension SettingKey {
  /// Throws if the setting is none for a file, or is a flag without a value.
  ///
  /// - Parameter isFlag: whether the file has true or false for it.
  fileprivate func refuse(_ place: @autoclosure () -> String, _ name: String, isFlag: Bool) throws(CommandFailure) {
    if row.kind == .secret {
      throw .usage("\(place()): \(name) does not belong in a file; set \(row.variable) in the environment")
    }
    if row.kind == .flag, !isFlag { throw .usage("\(place()): \(name) must be true or false, without quotes") }
  }
}
