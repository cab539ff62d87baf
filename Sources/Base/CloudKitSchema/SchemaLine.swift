/// A statement of a schema text with the comments around it.
struct SchemaLine: Sendable {
  enum Statement: Sendable, Hashable {
    /// `DEFINE SCHEMA`.
    case head
    case role(String)
    /// `RECORD TYPE name (`.
    case opening(String)
    case field(String, String, CKSchema.Field)
    case grant(String, String, Set<CKSchema.Permission>)
    /// `);`, the end of a record type.
    case closing(String)
    /// The end of the text.
    case end
  }

  /// The place of a statement in the layout.
  enum Part { case head, role, opening, row, closing, end }

  var statement: Statement
  /// The position of the declared name.
  var place = CKSchema.Place()
  /// The blank lines and comments before the statement and in it.
  var leading: [Trivia] = []
  /// The comments after the statement, on its last line.
  var trailing: [String] = []

  enum Trivia: Sendable, Hashable {
    case lineBreak
    case comment(String)
  }

  var part: Part {
    switch statement {
    case .head: .head
    case .role: .role
    case .opening: .opening
    case .field, .grant: .row
    case .closing: .closing
    case .end: .end
    }
  }
}

extension CKSchema {
  /// The statements of this schema: those of the parsed text in its order, with this schema's declarations, or else all
  /// sorted by name.
  var lines: [SchemaLine] {
    guard let source else { return lines(withAllSystemFields: false) }
    guard isEdited else { return source.lines }
    var merged: [SchemaLine] = []
    var rest = self
    for line in source.lines {
      var line = line
      switch line.statement {
      case .head:
        merged.append(line)
        let known = source.lines.map(\.statement)
        merged += roles.sorted().filter { !known.contains(.role($0)) }.map { SchemaLine(statement: .role($0)) }
        continue
      case .role(let name):
        guard roles.contains(name) else { continue }
      case .opening(let type):
        guard types[type] != nil else { continue }
      case .field(let type, let name, _):
        guard let field = types[type]?[name] else { continue }
        rest.types[type]?.fields[name] = nil
        SystemField(rawValue: name).map { rest.types[type]?.systemIndexes[$0] = nil }
        line.statement = .field(type, name, field)
      case .grant(let type, let role, let permissions):
        let kept = permissions.intersection(rest.types[type]?.grants[role] ?? [])
        guard !kept.isEmpty else { continue }
        rest.types[type]?.grants[role]?.subtract(kept)
        line.statement = .grant(type, role, kept)
      case .closing(let type):
        guard let added = rest.types.removeValue(forKey: type) else { continue }
        merged += added.statements(of: type, withAllSystemFields: false).map { SchemaLine(statement: $0) }
      case .end:
        for (name, type) in rest.types.sorted(by: { $0.key < $1.key }) {
          merged += type.lines(of: name, withAllSystemFields: false)
        }
      }
      merged.append(line)
    }
    return merged
  }

  /// The statements of this schema, sorted by name.
  func lines(withAllSystemFields isComplete: Bool) -> [SchemaLine] {
    [SchemaLine(statement: .head)] + roles.sorted().map { SchemaLine(statement: .role($0)) }
      + types.sorted { $0.key < $1.key }.flatMap { $0.value.lines(of: $0.key, withAllSystemFields: isComplete) }
      + [SchemaLine(statement: .end)]
  }
}

extension CKSchema.RecordType {
  fileprivate func lines(of type: String, withAllSystemFields isComplete: Bool) -> [SchemaLine] {
    let body = statements(of: type, withAllSystemFields: isComplete)
    return ([.opening(type)] + body + [.closing(type)]).map { SchemaLine(statement: $0) }
  }

  fileprivate func statements(of type: String, withAllSystemFields isComplete: Bool) -> [SchemaLine.Statement] {
    let system = CKSchema.SystemField.allCases.filter { isComplete || systemIndexes[$0]?.isEmpty == false }
    let names = (fields.keys + system.map(\.rawValue)).sorted()
    return names.compactMap { name in self[name].map { .field(type, name, $0) } }
      + effectiveGrants.sorted { $0.key < $1.key }.map { .grant(type, $0.key, $0.value) }
  }
}
