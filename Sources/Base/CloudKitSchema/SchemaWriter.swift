extension CKSchema {
  /// The schema in the canonical layout: one declaration a line, keywords in capitals, types in a column, permissions
  /// and indexes in the service's order. The comments and the order of a parsed text are kept. Formatting the result
  /// again does not change it.
  public var formatted: String { SchemaWriter.text(lines) }

  /// The schema as the service exports it: without comments, with every system field, types, fields and roles sorted by
  /// name. Equal schemas give equal texts. [C]
  public var exported: String { SchemaWriter.text(lines(withAllSystemFields: true)) }
}

/// Prints statements in the canonical layout.
enum SchemaWriter {
  /// Words that are valid identifiers only in quotation marks. [FW]
  static let reserved: Set<String> = ["grant", "preferred", "queryable", "sortable", "searchable"]

  static func text(_ lines: [SchemaLine]) -> String {
    var text = ""
    var width = 0
    for (index, line) in lines.enumerated() {
      // Roles and types are set apart by blank lines, whatever the text has.
      let isApart = [.role, .opening].contains(line.part)
      if isApart { text += "\n" }
      if line.part == .opening { width = Self.width(of: lines[(index + 1)...]) }
      text += comments(
        line,
        keepsFirstBlank: !isApart && index > 0 && lines[index - 1].part != .opening,
        keepsLastBlank: line.part != .closing && line.part != .end
      )
      var words = words(line.statement, nameWidth: width)
      if line.part == .row, lines[index + 1].part == .row { words += "," }
      let row = ([words] + line.trailing).filter { !$0.isEmpty }.joined(separator: " ")
      if !row.isEmpty { text += indentation(line.part) + row + "\n" }
    }
    return text
  }

  private static func words(_ statement: SchemaLine.Statement, nameWidth: Int) -> String {
    switch statement {
    case .head: return "DEFINE SCHEMA"
    case .role(let name): return "CREATE ROLE \(quote(name));"
    case .opening(let name): return "RECORD TYPE \(quote(name)) ("
    case .field(_, let name, let field):
      let name = quote(name)
      return name + String(repeating: " ", count: nameWidth - name.utf8.count) + " " + words(field)
    case .grant(_, let role, let permissions):
      return "GRANT \(words(permissions) ?? "") TO \(quote(role))"
    case .closing: return ");"
    case .end: return ""
    }
  }

  private static func indentation(_ part: SchemaLine.Part) -> String {
    switch part {
    case .head, .end: ""
    case .role, .opening, .closing: "    "
    case .row: "        "
    }
  }

  /// Returns the comments before a statement, one a line, with at most one blank line between them.
  private static func comments(_ line: SchemaLine, keepsFirstBlank: Bool, keepsLastBlank: Bool) -> String {
    let indentation = indentation(line.part == .closing ? .row : line.part)
    var (text, breaks, keepsBlank) = ("", 0, keepsFirstBlank)
    for piece in line.leading {
      switch piece {
      case .lineBreak: breaks += 1
      case .comment(let comment):
        if breaks > 1, keepsBlank { text += "\n" }
        text += indentation + comment + "\n"
        (breaks, keepsBlank) = (0, true)
      }
    }
    return breaks > 1 && keepsBlank && keepsLastBlank ? text + "\n" : text
  }

  /// The width of the longest name in a type's body.
  private static func width(of lines: ArraySlice<SchemaLine>) -> Int {
    var width = 0
    for line in lines {
      if case .closing = line.statement { break }
      if case .field(_, let name, _) = line.statement { width = max(width, quote(name).utf8.count) }
    }
    return width
  }

  static func words(_ field: CKSchema.Field) -> String {
    ([word(field)] + field.indexes.keywords).joined(separator: " ")
  }

  static func words(_ indexes: CKSchema.Indexes) -> String? {
    indexes.isEmpty ? nil : indexes.keywords.joined(separator: " ")
  }

  static func words(_ permissions: Set<CKSchema.Permission>) -> String? {
    guard !permissions.isEmpty else { return nil }
    return CKSchema.Permission.allCases.filter(permissions.contains).map(\.rawValue).joined(separator: ", ")
  }

  static func word(_ field: CKSchema.Field) -> String {
    let scalar = field.type.scalar == .asset ? "ASSET" : field.type.scalar.rawValue
    let element =
      switch field.number {
      case .undecided: "NUMBER"
      case .preferred: "NUMBER PREFERRED AS \(scalar)"
      case nil: field.type.isEncrypted ? "ENCRYPTED \(scalar)" : scalar
      }
    return field.type.isList ? "LIST<\(element)>" : element
  }

  private static func quote(_ name: String) -> String {
    CKSchema.isName(name) && !reserved.contains(name.lowercased()) ? name : "\"\(name)\""
  }
}
