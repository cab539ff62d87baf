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
    if let line = TOMLPlace.lineOfNUL(in: text) {
      throw ThemeError("contains a NUL character; remove it", source: source, line: line)
    }
    func mistake(_ keys: [any CodingKey], isUnknown: Bool = false) -> ThemeError {
      let path = keys.map(\.stringValue)
      let message = isUnknown ? ThemeFile.known(beside: path) : ThemeFile.rule(of: path)
      let line = TOMLPlace.line(of: path, in: text)
      return ThemeError(message, source: source, line: line, key: path.joined(separator: "."))
    }
    do {
      return try TOMLDecoder(strictDecoding: true).decode(ThemeFile.self, from: text).theme()
    } catch let error as TOMLParseError {
      throw ThemeError(error.description, source: source, line: error.source.begin.line)
    } catch let error as UnexpectedKeysError {
      throw mistake(error.keys.min { $0.key < $1.key }?.value ?? [], isUnknown: true)
    } catch DecodingError.typeMismatch(_, let context), DecodingError.keyNotFound(_, let context),
      DecodingError.dataCorrupted(let context)
    {
      throw mistake(context.codingPath)
    } catch {
      throw ThemeError("cannot be read as TOML", source: source)
    }
  }
}

/// A theme as its file states it.
private struct ThemeFile: Decodable {
  let name: String
  let version: Version?
  let background: Theme.Background
  let colors: [String: Word]?
  let roles: [StyleRole: Look]?

  enum Version: Int, Decodable { case first = 1 }

  struct Look: Decodable {
    let fg, bg: Word?
    let bold, underline, reverse, dim: Bool?

    /// The attributes, if any is stated.
    var attributes: Attributes? {
      let flags: [(Bool?, Attributes)] = [(bold, .bold), (underline, .underline), (reverse, .reverse), (dim, .dim)]
      let stated = flags.filter { $0.0 != nil }
      return stated.isEmpty ? nil : Attributes(stated.map { $0.0 == true ? $0.1 : [] })
    }
  }

  /// A colour, or the name of one.
  struct Word: Decodable {
    let text: String
    let path: [any CodingKey]

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      text = try (try? value.decode(String.self)) ?? String(value.decode(Int.self))
      path = decoder.codingPath
    }

    func color(_ named: [String: Color]) throws -> Color {
      if let color = named[text] ?? Color(text) { return color }
      throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: text))
    }
  }

  func theme() throws -> Theme {
    guard !name.isEmpty else {
      throw DecodingError.dataCorrupted(.init(codingPath: [CodingKeys.name], debugDescription: name))
    }
    // In order of their names, so that of several mistakes always the same is reported.
    var named: [String: Color] = [:]
    for (name, word) in (colors ?? [:]).sorted(by: { $0.key < $1.key }) { named[name] = try word.color([:]) }
    var looks: [StyleRole: Theme.Look] = [:]
    for (role, look) in (roles ?? [:]).sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      looks[role] = try Theme.Look(
        foreground: look.fg?.color(named),
        background: look.bg?.color(named),
        attributes: look.attributes
      )
    }
    return Theme(name: name, background: background, looks: looks)
  }

  static func known(beside path: [String]) -> String {
    "is not known here; known are "
      + (path.count == 1 ? "name, version, background, colors, roles" : "fg, bg, bold, underline, reverse, dim")
  }

  /// The values that a key may have.
  static func rule(of path: [String]) -> String {
    switch (path.first, path.count) {
    case ("name", _): "is missing; give the theme a name"
    case ("version", _): "is not a version this program knows; it knows 1"
    case ("background", _): "must be \"dark\" or \"light\""
    case (_, 1): "must be a table"
    case ("roles", 2) where StyleRole(rawValue: path[1]) == nil:
      "is not a role; the roles are \(StyleRole.allCases.map(\.rawValue).joined(separator: ", "))"
    case ("roles", 2): "must be a table such as { fg = \"#ffffff\", bold = true }"
    case ("roles", _) where !["fg", "bg"].contains(path.last): "must be true or false"
    default: "must be a colour: #rrggbb, 0 to 255, default, a name such as brightblue or one of [colors]"
    }
  }
}

extension StyleRole: CodingKeyRepresentable, Decodable {}
extension Theme.Background: Decodable {}

/// The places of keys in a TOML text.
package enum TOMLPlace {
  /// Returns the line of a key, from 1; nil if it is not found.
  ///
  /// The parser keeps no places for values that it could read, so this looks for the words of the path one after the
  /// other, which is right for every file that states a key once. Texts after `=` are values.
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
