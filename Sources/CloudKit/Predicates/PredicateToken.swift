/// A token of a predicate format, with its position.
struct PredicateToken: Hashable {
  enum Kind: Hashable {
    /// An identifier or a keyword: `age`, `AND`, `recordID.recordName`.
    case word(String)
    /// An identifier after a `#`, which is never a keyword.
    case name(String)
    /// A quoted string, without its quotes.
    case text(String)
    case integer(Int64)
    case number(Double)
    /// `%@`, `%d` and similar: the next argument.
    case argument(PredicatePlaceholder)
    /// An operator made of symbols, a bracket or a comma.
    case sign(String)
  }

  let kind: Kind
  /// The position in the format, in Unicode scalars from 0.
  let offset: Int
  /// The word in upper case, since keywords are case-insensitive; empty for other tokens.
  let keyword: String

  init(kind: Kind, offset: Int) {
    self.kind = kind
    self.offset = offset
    keyword = if case .word(let word) = kind { word.uppercased() } else { "" }
  }

  /// The token as shown in error messages, without values that may be private.
  var shown: String {
    switch kind {
    case .word(let text): String(text.prefix(64))
    case .name(let text): "#" + text.prefix(64)
    case .sign(let text): text
    case .text: "a quoted string"
    case .integer, .number: "a number"
    case .argument(let placeholder): placeholder.shown
    }
  }
}

/// The type of argument that a placeholder takes.
enum PredicatePlaceholder: Hashable {
  /// `%@`: any value.
  case value
  /// `%K`: a field's name.
  case name
  /// `%d` and similar, as written in the format.
  case integer(String)
  /// `%f` and similar, as written in the format.
  case real(String)
  /// `%s`: a C string.
  case cString

  var shown: String {
    switch self {
    case .value: "%@"
    case .name: "%K"
    case .integer(let spelling), .real(let spelling): spelling
    case .cString: "%s"
    }
  }
}
