import TOMLKit

extension Theme {
  /// Reads a theme file.
  ///
  ///     name = "midnight"
  ///     version = 1
  ///     background = "dark"
  ///     [colors]
  ///     ink = "#0d1117"
  ///     [roles]
  ///     text = { fg = "#d7dce2", bg = "ink" }
  ///     error = { fg = "brightred", bold = true }
  ///
  /// - Parameters:
  ///   - text: The file's text.
  ///   - source: The file's name, for error messages.
  package static func parse(_ text: String, source: String) throws(ThemeError) -> Theme {
    // The parser takes a C string and would silently stop at a NUL.
    if let line = TOMLPlaces.lineOfNUL(in: text) { throw .mistakes([.init(.hasNUL, line: line)], file: source) }
    let table: TOMLTable
    do {
      table = try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      let line = error.source.begin.line
      let fault = UnquotedText(in: text, line: line).map(ThemeError.Fault.unquoted) ?? .syntax(error.description)
      throw .mistakes([.init(fault, line: line)], file: source)
    } catch {
      throw .unreadable(file: source, reason: "it is not TOML")
    }
    var file = ThemeFile(text)
    let theme = file.theme(table)
    guard file.mistakes.isEmpty else {
      // Missing keys, which have no line, come last.
      let mistakes = file.mistakes.sorted { ($0.line ?? .max, $0.key ?? "") < ($1.line ?? .max, $1.key ?? "") }
      throw .mistakes(mistakes, file: source)
    }
    return theme
  }
}

extension Theme {
  /// The attributes of a role, by the names of their keys.
  static let flags: [(name: String, attribute: Attributes)] = [
    ("bold", .bold), ("underline", .underline), ("reverse", .reverse), ("dim", .dim),
  ]
}

/// Reads the table of a theme's file, and collects its mistakes.
private struct ThemeFile {
  private(set) var mistakes: [ThemeError.Mistake] = []
  /// The colours that the file names.
  private var named: [String: Color] = [:]
  private let places: TOMLPlaces

  init(_ text: String) { places = TOMLPlaces(text) }

  /// Returns the theme, with nothing in the places of mistakes.
  mutating func theme(_ file: TOMLTable) -> Theme {
    for key in file.keys where !["name", "version", "background", "colors", "roles"].contains(key) {
      note(.unknownKey, [key])
    }
    let name = file["name"]?.string ?? ""
    if name.isEmpty { note(file.keys.contains("name") ? .notName : .noName, ["name"]) }
    if let version = file["version"], version.int != 1 { note(.notVersion, ["version"]) }
    let background = file["background"]?.string.flatMap(Theme.Background.init(rawValue:))
    if background == nil {
      note(file.keys.contains("background") ? .notBackground : .noBackground, ["background"])
    }
    if let colors = table(file["colors"], ["colors"], .notTable) {
      var named: [String: Color] = [:]
      // A name of a wrong colour is one mistake, and no other where it is used.
      for name in colors.keys { named[name] = color(colors[name], ["colors", name]) ?? .standard }
      self.named = named
    }
    var looks: [StyleRole: Theme.Look] = [:]
    if let roles = table(file["roles"], ["roles"], .notTable) {
      for key in roles.keys {
        guard let role = StyleRole(rawValue: key) else {
          note(.unknownRole, ["roles", key])
          continue
        }
        looks[role] = table(roles[key], ["roles", key], .notLook).map { look($0, ["roles", key]) }
      }
    }
    return Theme(name: name, background: background ?? .dark, looks: looks)
  }

  private mutating func look(_ look: TOMLTable, _ path: [String]) -> Theme.Look {
    for key in look.keys where !["fg", "bg"].contains(key) && !Theme.flags.contains(where: { $0.name == key }) {
      note(.unknownRoleKey, path + [key])
    }
    var attributes: Attributes?
    for (name, attribute) in Theme.flags {
      guard let value = look[name] else { continue }
      if value.bool == nil { note(.notFlag, path + [name]) }
      attributes = (attributes ?? []).union(value.bool == true ? attribute : [])
    }
    let foreground = color(look["fg"], path + ["fg"])
    let background = color(look["bg"], path + ["bg"])
    return Theme.Look(foreground: foreground, background: background, attributes: attributes)
  }

  /// Returns a colour, or the one of a name; nil if there is none.
  private mutating func color(_ value: (any TOMLValueConvertible)?, _ path: [String]) -> Color? {
    guard let value else { return nil }
    let word = value.string ?? value.int.map { String($0) }
    let color = word.flatMap { named[$0] ?? Color($0) }
    if color == nil { note(.notColor, path) }
    return color
  }

  /// Returns a table; nil if there is none.
  private mutating func table(
    _ value: (any TOMLValueConvertible)?,
    _ path: [String],
    _ fault: ThemeError.Fault
  ) -> TOMLTable? {
    guard let value else { return nil }
    if value.table == nil { note(fault, path) }
    return value.table
  }

  private mutating func note(_ fault: ThemeError.Fault, _ path: [String]) {
    let isMissing = fault == .noName || fault == .noBackground
    let line = isMissing ? nil : places.line(of: path)
    mistakes.append(ThemeError.Mistake(fault, key: path.joined(separator: "."), line: line))
  }
}
