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
    let reader = ThemeReader(text: text, source: source)
    return try reader.read()
  }
}

/// Reads one theme file and complains with file, line and key.
private struct ThemeReader {
  let text: String
  let source: String

  func read() throws(ThemeError) -> Theme {
    let table = try table()
    try refuseUnknown(table, known: ["name", "version", "background", "colors", "roles"], in: [])
    guard let name = table["name"]?.string, !name.isEmpty else {
      throw error("is missing; give the theme a name", at: ["name"])
    }
    let version = table["version"]?.int ?? (table["version"] == nil ? 1 : 0)
    guard version == 1 else { throw error("is not a version this program knows; it knows 1", at: ["version"]) }
    guard let background = Theme.Background(rawValue: table["background"]?.string ?? "") else {
      throw error("must be \"dark\" or \"light\"", at: ["background"])
    }
    let colors = try namedColors(table)
    let looks = try looks(table, colors)
    return Theme(name: name, version: version, background: background, looks: looks)
  }

  private func table() throws(ThemeError) -> TOMLTable {
    // The parser takes a C string and would silently stop at a NUL.
    if let line = TOMLPlace.lineOfNUL(in: text) {
      throw ThemeError("contains a NUL character; remove it", source: source, line: line)
    }
    do {
      return try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      throw ThemeError(error.description, source: source, line: error.source.begin.line)
    } catch {
      throw ThemeError("cannot be read as TOML", source: source)
    }
  }

  private func namedColors(_ root: TOMLTable) throws(ThemeError) -> [String: Color] {
    var colors: [String: Color] = [:]
    for (name, value) in try section("colors", of: root) {
      colors[name] = try color(value, at: ["colors", name], named: [:])
    }
    return colors
  }

  private func looks(_ root: TOMLTable, _ colors: [String: Color]) throws(ThemeError) -> [StyleRole: Theme.Look] {
    var looks: [StyleRole: Theme.Look] = [:]
    for (name, value) in try section("roles", of: root) {
      guard let role = StyleRole(rawValue: name) else {
        let roles = StyleRole.allCases.map(\.rawValue).joined(separator: ", ")
        throw error("is not a role; the roles are \(roles)", at: ["roles", name])
      }
      guard let table = value.table else {
        throw error("must be a table such as { fg = \"#ffffff\", bold = true }", at: ["roles", name])
      }
      looks[role] = try look(table, at: ["roles", name], colors)
    }
    return looks
  }

  private func look(_ table: TOMLTable, at path: [String], _ colors: [String: Color]) throws(ThemeError) -> Theme.Look {
    let flags: [(name: String, attribute: Attributes)] = [
      ("bold", .bold), ("underline", .underline), ("reverse", .reverse), ("dim", .dim),
    ]
    try refuseUnknown(table, known: ["fg", "bg"] + flags.map(\.name), in: path)
    var look = Theme.Look()
    if let value = table["fg"] { look.foreground = try color(value, at: path + ["fg"], named: colors) }
    if let value = table["bg"] { look.background = try color(value, at: path + ["bg"], named: colors) }
    for (name, attribute) in flags {
      guard let value = table[name] else { continue }
      guard let isSet = value.bool else { throw error("must be true or false", at: path + [name]) }
      look.attributes = (look.attributes ?? []).union(isSet ? attribute : [])
    }
    return look
  }

  private func color(
    _ value: any TOMLValueConvertible,
    at path: [String],
    named colors: [String: Color]
  ) throws(ThemeError) -> Color {
    let text = value.string ?? value.int.map(String.init) ?? ""
    if let color = colors[text] ?? Color(text) { return color }
    throw error("must be a colour: #rrggbb, 0 to 255, default, a name such as brightblue or one of [colors]", at: path)
  }

  private func section(_ name: String, of root: TOMLTable) throws(ThemeError) -> TOMLTable {
    guard let value = root[name] else { return TOMLTable() }
    guard let table = value.table else { throw error("must be a table", at: [name]) }
    return table
  }

  private func refuseUnknown(_ table: TOMLTable, known: [String], in path: [String]) throws(ThemeError) {
    for key in table.keys where !known.contains(key) {
      throw error("is not known here; known are \(known.joined(separator: ", "))", at: path + [key])
    }
  }

  private func error(_ message: String, at path: [String]) -> ThemeError {
    ThemeError(message, source: source, line: TOMLPlace.line(of: path, in: text), key: path.joined(separator: "."))
  }
}

/// The places of keys in a TOML text.
package enum TOMLPlace {
  /// Returns the line of a key, from 1; nil if it is not found.
  ///
  /// The parser keeps no places for values that it could read, so this looks for the words of the path one after the other,
  /// which is right for every file that states a key once. Texts after `=` are values.
  package static func line(of path: [String], in text: String) -> Int? {
    var found: Int?
    // A quoted key, such as "my.app", may have several words.
    var words = path.flatMap { names(in: $0[...]) }[...]
    // By bytes: to Swift, CR LF is one character, and another than LF.
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Substring.init)
    for (index, line) in lines.enumerated() {
      let code = line.prefix { $0 != "#" || line.contains("\"#") }.replacing(/= *("[^"]*"|'[^']*')/, with: "=")
      let named = names(in: code)
      while let word = words.first, named.contains(where: { $0 == word }) {
        found = index + 1
        words = words.dropFirst()
      }
    }
    return found
  }

  private static func names(in text: Substring) -> [Substring] {
    text.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "-" }
  }

  /// Returns the line of the first NUL, from 1; nil if there is none.
  package static func lineOfNUL(in text: String) -> Int? {
    guard let place = text.utf8.firstIndex(of: 0) else { return nil }
    return text.utf8[..<place].count { $0 == UInt8(ascii: "\n") } + 1
  }
}
