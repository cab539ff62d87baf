/// Why a theme cannot be used.
package enum ThemeError: Error, Sendable, Hashable {
  /// Neither a file nor a built-in theme has the name.
  case unknown(String, known: [String])
  case unreadable(file: String, reason: String)
  /// The file's mistakes, in the order of their lines.
  case mistakes([Mistake], file: String)

  /// A mistake in a theme's file.
  package struct Mistake: Sendable, Hashable {
    package let fault: Fault
    /// The key at fault, such as `roles.text.fg`; nil if the file is not TOML.
    package let key: String?
    /// The line in the file, from 1; nil if it has no such key.
    package let line: Int?

    init(_ fault: Fault, key: String? = nil, line: Int? = nil) {
      (self.fault, self.key, self.line) = (fault, key, line)
    }
  }

  /// The kind of a mistake in a key, or in the file.
  package enum Fault: Sendable, Hashable {
    case hasNUL
    /// The file is not TOML, in the words of the parser.
    case syntax(String)
    case unquoted(UnquotedText)
    case noName, noBackground
    case notName, notVersion, notBackground, notTable, notLook, notColor, notFlag
    case unknownKey, unknownRole, unknownRoleKey
  }
}

extension ThemeError: CustomStringConvertible {
  /// One line: what is wrong, then what would be right, then the file.
  package var description: String {
    switch self {
    // No name begins the line: a screen writes its first letter as a capital.
    case .unknown(let name, let known):
      sanitize("there is no theme '\(clip(name, to: 60))'; the themes are \(known.joined(separator: ", "))")
    case .unreadable(let file, let reason): sanitize("theme \(file) cannot be read: \(reason)")
    case .mistakes(let mistakes, let file): sanitize(Self.text(mistakes, file))
    }
  }

  private static func text(_ mistakes: [Mistake], _ file: String) -> String {
    // The path comes last, so that a short line has the mistakes.
    let name = file.split(separator: "/").last.map(String.init) ?? file
    let listed = 20
    var wrong = mistakes.prefix(listed).map { mistake in
      let place = mistake.line.map { "line \($0): " } ?? ""
      let key = mistake.key.map { clip($0, to: 60) + " " } ?? ""
      return place + key + mistake.fault.text
    }
    if mistakes.count > listed { wrong.append("and \(mistakes.count - listed) more") }
    var remedies: [String] = []
    for remedy in mistakes.prefix(listed).compactMap(\.fault.remedy) where !remedies.contains(remedy) {
      remedies.append(remedy)
    }
    let place = name == file ? [] : ["correct \(file)"]
    let isPlaced = mistakes.first?.line != nil
    return "theme \(name)\(isPlaced ? " " : ": ")" + (wrong + remedies + place).joined(separator: "; ")
  }
}

extension ThemeError.Fault {
  fileprivate var text: String {
    switch self {
    case .hasNUL: "contains a NUL character"
    case .syntax(let message): message
    case .unquoted(let unquoted) where Theme.flags.contains { $0.name == unquoted.key }:
      "\(unquoted.key) \(Self.notFlag.text)"
    case .unquoted(let unquoted): unquoted.remedy()
    case .noName, .noBackground: "is missing"
    case .notName: "must be a text in quotes, and not empty"
    case .notVersion: "must be 1, the version that this program knows"
    case .notBackground: "must be \"dark\" or \"light\""
    case .notTable: "must be a table"
    case .notLook: "must be a table such as { fg = \"#ffffff\", bold = true }"
    case .notColor: "must be a colour"
    case .notFlag: "must be true or false, without quotes"
    case .unknownKey, .unknownRoleKey: "is not known here"
    case .unknownRole: "is not a role"
    }
  }

  /// The remedy; nil if the text says it.
  fileprivate var remedy: String? {
    switch self {
    case .hasNUL: "remove it"
    case .noName: "write name = \"NAME\""
    case .noBackground: "write background = \"dark\" or background = \"light\""
    case .notColor: "a colour is #rrggbb, 0 to 255, default, a name such as brightblue, or a name from [colors]"
    case .unknownKey: "a theme has name, version, background, [colors] and [roles]"
    case .unknownRole: "the roles are \(StyleRole.allCases.map(\.rawValue).joined(separator: ", "))"
    case .unknownRoleKey: "a role has fg, bg, bold, underline, reverse and dim"
    case .syntax, .unquoted, .notName, .notVersion, .notBackground, .notTable, .notLook, .notFlag: nil
    }
  }
}
