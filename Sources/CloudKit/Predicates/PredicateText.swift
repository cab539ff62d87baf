internal import Foundation

/// Formats a predicate in Apple's grammar.
struct PredicateText {
  enum Values {
    /// Shows each value as an ellipsis, for logs and errors.
    case hidden
    /// Shows values as literals where the grammar has one.
    case shown
    /// Writes each value as `%@` and collects it, so that the text can be parsed again.
    case collected
  }

  static let distanceFunction = "distanceToLocation:fromLocation:"
  /// The name that stands for all words of a record in a token search.
  static let allTokens = "allTokens"

  private let values: Values
  private(set) var text = ""
  private(set) var arguments: [FieldValue] = []

  init(_ node: PredicateNode, values: Values) {
    self.values = values
    write(node)
  }

  private mutating func write(_ node: PredicateNode) {
    switch node {
    case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .and(let parts): join(parts, " AND ", nothing: "TRUEPREDICATE")
    case .or(let parts): join(parts, " OR ", nothing: "FALSEPREDICATE")
    case .not(let part):
      text += "NOT "
      writePart(part)
    case .comparison(let comparison): write(comparison)
    case .unusable(let reason): text += "<\(reason)>"
    }
  }

  private mutating func join(_ parts: [PredicateNode], _ separator: String, nothing: String) {
    guard !parts.isEmpty else { return text += nothing }
    for (index, part) in parts.enumerated() {
      if index > 0 { text += separator }
      writePart(part)
    }
  }

  /// Writes a part of a compound. Parentheses are used only where needed, because parsing limits their nesting depth.
  private mutating func writePart(_ part: PredicateNode) {
    switch part {
    case .and, .or:
      text += "("
      write(part)
      text += ")"
    default: write(part)
    }
  }

  private mutating func write(_ comparison: PredicateComparison) {
    if let quantifier = comparison.quantifier { text += quantifier.rawValue + " " }
    if comparison.comparator == .tokenMatches, comparison.left == .record {
      text += Self.allTokens
    } else {
      write(comparison.left)
    }
    text += " " + comparison.comparator.rawValue
    let letters = PredicateComparison.Options.letters.filter { comparison.options.contains($0.option) }
    if !letters.isEmpty { text += "[" + String(letters.map(\.letter)) + "]" }
    text += " "
    write(comparison.right)
  }

  private mutating func write(_ operand: PredicateComparison.Operand) {
    switch operand {
    // Names that would be parsed as a keyword are escaped. Names with a dot are system fields.
    case .field(let name): text += Self.isKeyword(name) ? "#" + name : name
    case .record: text += "SELF"
    case .null: text += "NULL"
    case .value(let value): write(value)
    case .distance(let field, let place):
      text += Self.distanceFunction + "("
      write(.field(field))
      text += ", "
      write(.location(place))
      text += ")"
    }
  }

  private mutating func write(_ value: FieldValue) {
    switch values {
    case .hidden: text += "…"
    case .shown: text += Self.literal(value)
    case .collected:
      text += "%@"
      arguments.append(value)
    }
  }

  private static func literal(_ value: FieldValue) -> String {
    switch value {
    case .string(let text): quoted(text)
    case .int64(let integer): "\(integer)"
    case .double(let number): "\(number)"
    case .timestamp(let milliseconds):
      "CAST(\(Date(timeIntervalSince1970: Milliseconds.seconds(milliseconds)).timeIntervalSinceReferenceDate), \"NSDate\")"
    case .list(_, let elements): "{" + elements.map(literal).joined(separator: ", ") + "}"
    case .reference(let reference): "<reference to \(quoted(reference.recordName))>"
    case .location(let place): "<location \(place.latitude), \(place.longitude)>"
    case .bytes(let data): "<\(data.count) bytes>"
    case .asset, .encrypted, .other: "<\(value.wireType)>"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
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
