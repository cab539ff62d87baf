import CloudSync
import Foundation

/// Finds a setting in its four sources and validates it.
struct SettingResolver {
  let profile: Sourced<String>?
  let stateDirectory: String

  private let options: SettingOptions
  private let variables: [String: String]
  private let file: ConfigurationFile?
  private let profileSettings: [SettingKey: String]

  init(
    options: SettingOptions,
    environment: [String: String],
    file: ConfigurationFile?,
    home: String
  ) throws(CommandFailure) {
    self.options = options
    variables = environment
    self.file = file
    stateDirectory = ConfigurationFile.baseDirectory("XDG_STATE_HOME", ".local/state", environment, home)
    let configurationPath = file?.path ?? ConfigurationFile.path(environment: environment, home: home)
    profile = Self.lookUp(.profile, options, environment, file, profile: nil)
    guard let profile else {
      profileSettings = [:]
      return
    }
    guard let settings = file?.profiles[profile.value] else {
      let known = file?.profiles.keys.sorted().joined(separator: ", ") ?? ""
      let place = profile.source.place(of: .profile)
      let advice = known.isEmpty ? "\(configurationPath) has no [profiles.NAME]" : "the profiles are \(known)"
      throw .usage("\(place): there is no profile '\(profile.value)'; \(advice)")
    }
    profileSettings = settings
  }

  /// The text of a setting; throws if it is empty.
  func text(_ key: SettingKey) throws(CommandFailure) -> Sourced<String>? {
    guard let found = lookUp(key) else { return nil }
    guard !found.value.isEmpty else {
      throw .usage("\(found.source.place(of: key)) is empty; give a value or omit it")
    }
    return found
  }

  /// One of a fixed set of names.
  func oneOf<Name: CaseIterable & RawRepresentable<String>>(_ key: SettingKey) throws(CommandFailure) -> Sourced<Name>?
  {
    try lookUp(key).map { found throws(CommandFailure) in try Self.oneOf(key, found) }
  }

  static func oneOf<Name: CaseIterable & RawRepresentable<String>>(_ key: SettingKey, _ found: Sourced<String>)
    throws(CommandFailure) -> Sourced<Name>
  {
    guard let value = Name(rawValue: found.value) else {
      throw refusal(key, found, Name.allCases.map(\.rawValue))
    }
    return Sourced(value, found.source)
  }

  func flag(_ key: SettingKey) throws(CommandFailure) -> Sourced<Bool>? {
    guard let found = lookUp(key) else { return nil }
    switch found.value.lowercased() {
    case "1", "true", "yes", "on": return Sourced(true, found.source)
    case "0", "false", "no", "off": return Sourced(false, found.source)
    // A typo must not make a store writable.
    default: throw Self.refusal(key, found, ["1", "0", "true", "false"])
    }
  }

  /// A length of time such as `90s`, `15m`, `24h` or `7d`, in milliseconds.
  func age(_ key: SettingKey) throws(CommandFailure) -> Sourced<Int64>? {
    guard let found = try text(key) else { return nil }
    guard let age = FilterLexer.age(found.value), age > 0 else {
      throw .usage("\(found.source.place(of: key)) is '\(found.value)'; use a time such as 90s, 15m, 24h or 7d")
    }
    return Sourced(age, found.source)
  }

  func container() throws(CommandFailure) -> Sourced<String>? {
    guard let found = try text(.container) else { return nil }
    let isName = found.value.unicodeScalars.allSatisfy {
      !$0.properties.isWhitespace && $0.properties.generalCategory != .control && $0 != "/"
    }
    guard isName, found.value.utf8.count <= 200 else {
      let place = found.source.place(of: .container)
      throw .usage("\(place) is not a container ID; use one such as iCloud.org.example.App")
    }
    return found
  }

  func url() throws(CommandFailure) -> Sourced<URL>? {
    guard let found = try text(.url) else { return nil }
    return Sourced(try Self.url(found.value, found.source.place(of: .url)), found.source)
  }

  private static func url(_ text: String, _ place: String) throws(CommandFailure) -> URL {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty, let url = parts.url
    else { throw .usage("\(place) is not a URL; use one that begins with https:// or http://") }
    // The value is not printed: the part before the @ is a secret.
    guard parts.user == nil, parts.password == nil else {
      throw .usage("\(place) contains a user or password; put credentials in the environment")
    }
    // The signature covers the path, so the URL must not add to it.
    guard ["", "/"].contains(parts.percentEncodedPath), parts.query == nil, parts.fragment == nil else {
      throw .usage("\(place) has a path, a query or a fragment; give only scheme, host and port")
    }
    return url
  }

  private static func refusal(_ key: SettingKey, _ found: Sourced<String>, _ allowed: [String]) -> CommandFailure {
    let choices = allowed.dropLast().joined(separator: ", ") + " or " + (allowed.last ?? "")
    return .usage("\(found.source.place(of: key)) is '\(found.value)'; use \(choices)")
  }

  private func lookUp(_ key: SettingKey) -> Sourced<String>? {
    let profile = profile.map { (name: $0.value, settings: profileSettings) }
    return Self.lookUp(key, options, variables, file, profile: profile)
  }

  private static func lookUp(
    _ key: SettingKey,
    _ options: SettingOptions,
    _ variables: [String: String],
    _ file: ConfigurationFile?,
    profile: (name: String, settings: [SettingKey: String])?
  ) -> Sourced<String>? {
    if let value = options.values[key] { return Sourced(value, .option) }
    // Shells and service files unset a variable by making it empty. Tokens often end in a line break.
    if let name = key.variable, let value = variables[name]?.trimmingCharacters(in: .whitespacesAndNewlines),
      !value.isEmpty
    {
      return Sourced(value, .environment)
    }
    guard let file else { return nil }
    if let profile, let value = profile.settings[key] {
      return Sourced(value, .profile(profile.name, file: file.path))
    }
    return file.settings[key].map { Sourced($0, .file(file.path)) }
  }
}
