/// A piece of a predicate's text, and where it begins.
struct PredicateToken: Hashable {
  enum Kind: Hashable {
    /// An identifier or a keyword: `age`, `AND`, `recordID.recordName`.
    case word(String)
    /// An identifier after a `#`, which is never a keyword.
    case name(String)
    /// A quoted text, without its quotes.
    case text(String)
    case integer(Int64)
    case number(Double)
    /// `%@`, `%d` and their like: the next argument.
    case argument(PredicatePlaceholder)
    /// An operator in signs, or a bracket or comma.
    case sign(String)
  }

  let kind: Kind
  /// In scalars from the beginning of the format.
  let offset: Int
  /// A word in capitals, since keywords may be written either way; empty for other pieces.
  let keyword: String

  init(kind: Kind, offset: Int) {
    self.kind = kind
    self.offset = offset
    keyword = if case .word(let word) = kind { word.uppercased() } else { "" }
  }

  /// The piece as it stands in a message, without what may be private.
  var shown: String {
    switch kind {
    case .word(let text): String(text.prefix(64))
    case .name(let text): "#" + text.prefix(64)
    case .sign(let text): text
    case .text: "a quoted text"
    case .integer, .number: "a number"
    case .argument(let placeholder): placeholder.shown
    }
  }
}

/// What a placeholder takes.
enum PredicatePlaceholder: Hashable {
  /// `%@`: any value.
  case value
  /// `%K`: a field's name.
  case name
  /// `%d` and its like, as it was spelt.
  case integer(String)
  /// `%f` and its like, as it was spelt.
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
