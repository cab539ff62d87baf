internal import Foundation

// Predicates in Apple's grammar. Values are literals where the grammar has one, or, for logs and errors, ellipses.

extension PredicateNode {
  /// Returns the predicate as text.
  package func text(showingValues: Bool = false) -> String {
    /// Returns the text of a part of a compound.
    func part(_ part: PredicateNode) -> String {
      switch part {
      case .and, .or: "(" + part.text(showingValues: showingValues) + ")"
      default: part.text(showingValues: showingValues)
      }
    }
    switch self {
    case .constant(true), .and([]): return "TRUEPREDICATE"
    case .constant(false), .or([]): return "FALSEPREDICATE"
    case .and(let parts): return parts.map(part).joined(separator: " AND ")
    case .or(let parts): return parts.map(part).joined(separator: " OR ")
    case .not(let node): return "NOT " + part(node)
    case .comparison(let comparison): return comparison.text(showingValues)
    case .unusable(let reason): return "<\(reason)>"
    }
  }
}

extension PredicateComparison {
  static let distanceFunction = "distanceToLocation:fromLocation:"
  /// The name that stands for all words of a record in a token search.
  static let allTokens = "allTokens"

  fileprivate func text(_ showingValues: Bool) -> String {
    let letters = Options.letters.filter { options.contains($0.option) }.map(\.letter)
    let words = [
      quantifier?.rawValue,
      comparator == .tokenMatches && left == .record ? Self.allTokens : left.text(showingValues),
      comparator.rawValue + (letters.isEmpty ? "" : "[" + String(letters) + "]"), right.text(showingValues),
    ]
    return words.compactMap { $0 }.joined(separator: " ")
  }
}

extension PredicateComparison.Operand {
  fileprivate func text(_ showingValues: Bool) -> String {
    switch self {
    // Names that would be parsed as a keyword are escaped. Names with a dot are system fields.
    case .field(let name): return Self.isKeyword(name) ? "#" + name : name
    case .record: return "SELF"
    case .null: return "NULL"
    case .now: return "now()"
    case .value(let value): return showingValues ? value.literal : "…"
    case .distance(let field, let point):
      let operands = [Self.field(field), .value(.location(point))].map { $0.text(showingValues) }
      return PredicateComparison.distanceFunction + "(" + operands.joined(separator: ", ") + ")"
    }
  }

  private static func isKeyword(_ name: String) -> Bool {
    let name = name.uppercased()
    return PredicateComparison.Operator(rawValue: name) != nil || keywords.contains(name)
  }

  private static let keywords: Set<String> = [
    "AND", "OR", "NOT", "ANY", "SOME", "ALL", "NONE", "TRUE", "FALSE", "YES", "NO", "NULL", "NIL", "SELF", "CAST",
    "TRUEPREDICATE", "FALSEPREDICATE", "FIRST", "LAST", "SIZE", "SUBQUERY", "FUNCTION", "FETCH", "ANYKEY", "ALLTOKENS",
  ]
}

extension FieldValue {
  fileprivate var literal: String {
    switch self {
    case .string(let text): Self.quoted(text)
    case .int64(let integer): "\(integer)"
    case .double(let number): "\(number)"
    case .timestamp(let milliseconds):
      "CAST(\(Milliseconds.date(milliseconds).timeIntervalSinceReferenceDate), \"NSDate\")"
    case .list(_, let elements): "{" + elements.map(\.literal).joined(separator: ", ") + "}"
    case .reference(let reference): "<reference to \(Self.quoted(reference.recordName))>"
    case .location(let point): "<location \(point.latitude), \(point.longitude)>"
    case .bytes(let data): "<\(data.count) bytes>"
    case .asset, .encrypted, .other: "<\(wireType)>"
    }
  }

  private static func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      default: String(scalar)
      }
    }
    return "\"" + escaped.joined() + "\""
  }
}
