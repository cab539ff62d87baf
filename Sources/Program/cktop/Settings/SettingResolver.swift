import CloudKit
import CloudSync
import Facts
import Foundation

/// Finds a setting in its four sources and validates it.
struct SettingResolver {
  private let options: [SettingKey: String]
  private let variables: [String: String]
  private let file: ConfigurationFile?
  private var profile: (name: String, settings: [SettingKey: String])?

  init(
    options: [SettingKey: String],
    environment: [String: String],
    file: ConfigurationFile?
  ) throws(CommandFailure) {
    self.options = options
    variables = environment
    self.file = file
    guard let named = lookUp(.profile) else { return }
    guard let settings = file?.profiles[named.value] else {
      let known = file?.profiles.keys.sorted().joined(separator: ", ") ?? ""
      let path = file?.path ?? ConfigurationFile.path(environment)
      let advice = known.isEmpty ? "\(path) has no [profiles.NAME]" : "the profiles are \(known)"
      throw .usage("\(named.source.place(of: .profile)): there is no profile '\(named.value.excerpt)'; \(advice)")
    }
    profile = (named.value, settings)
  }

  /// The text of a setting, not checked further; throws if it is empty, or no path.
  func text(_ key: SettingKey) throws(CommandFailure) -> Sourced<String>? {
    guard let found = lookUp(key) else { return nil }
    // Flags and choices name what they accept instead.
    switch key.row.kind {
    case .flag, .choice: break
    default:
      guard !found.value.isEmpty else {
        throw .usage("\(found.source.place(of: key)) is empty; give a value or omit it")
      }
    }
    guard key.row.kind == .path else { return found }
    if let problem = PathRule.problem(found.value) { throw .usage("\(found.source.place(of: key)): \(problem)") }
    return Sourced(PathRule.expanded(found.value, variables), found.source)
  }

  /// Returns the value in its standard form, such as `true` for `yes`. Throws a usage failure that names the source and
  /// what the setting accepts.
  static func checked(_ key: SettingKey, _ found: Sourced<String>) throws(CommandFailure) -> Sourced<String> {
    let place = found.source.place(of: key)
    switch key.row.kind {
    case .text, .path, .secret: break
    case .flag:
      switch found.value.lowercased() {
      case "1", "true", "yes", "on": return Sourced("true", found.source)
      case "0", "false", "no", "off": return Sourced("false", found.source)
      // A typo must not make a store writable.
      default: throw refusal(place, found.value, ["1", "0", "true", "false"])
      }
    case .choice(let names):
      guard names.contains(found.value) else { throw refusal(place, found.value, names) }
    case .age:
      guard let age = FilterLexer.age(found.value), age > 0 else {
        throw .usage("\(place) is '\(found.value.excerpt)'; use a time such as 90s, 15m, 24h or 7d")
      }
      return Sourced("\(age / 1000)s", found.source)
    case .containerID:
      let isName = found.value.unicodeScalars.allSatisfy {
        !$0.properties.isWhitespace && $0.properties.generalCategory != .control && $0 != "/"
      }
      guard isName, found.value.utf8.count <= 200 else {
        throw .usage("\(place) is not a container ID; use one such as iCloud.org.example.App")
      }
    case .url: try checkURL(found.value, place)
    }
    return found
  }

  private static func checkURL(_ text: String, _ place: String) throws(CommandFailure) {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty, parts.url != nil
    else { throw .usage("\(place) is not a URL; use one that begins with https:// or http://") }
    // The value is not printed: the part before the @ is a secret.
    guard parts.user == nil, parts.password == nil else {
      throw .usage("\(place) contains a user or password; put credentials in the environment")
    }
    // The signature covers the path, so the URL must not add to it.
    guard ["", "/"].contains(parts.percentEncodedPath), parts.query == nil, parts.fragment == nil else {
      throw .usage("\(place) has a path, a query or a fragment; give only scheme, host and port")
    }
  }

  private static func refusal(_ place: String, _ value: String, _ allowed: [String]) -> CommandFailure {
    let choices = allowed.dropLast().joined(separator: ", ") + " or " + (allowed.last ?? "")
    return .usage("\(place) is '\(value.excerpt)'; use \(choices)")
  }

  private func lookUp(_ key: SettingKey) -> Sourced<String>? {
    if let value = options[key] { return Sourced(value, .option) }
    // Shells and service files unset a variable by making it empty. Tokens often end in a line break.
    if let value = variables[key.row.variable]?.trimmingCharacters(in: .whitespacesAndNewlines), !value.isEmpty {
      return Sourced(value, .environment)
    }
    guard let file else { return nil }
    if let profile, let value = profile.settings[key] {
      return Sourced(value, .profile(profile.name, file: file.place(["profiles", profile.name, key.rawValue])))
    }
    return file.settings[key].map { Sourced($0, .file(file.place([key.rawValue]))) }
  }
}
