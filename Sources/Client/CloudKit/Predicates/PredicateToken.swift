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
    /// `%@`, `%d` and similar, as written: the next argument.
    case argument(String)
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
    case .sign(let text), .argument(let text): text
    case .text: "a quoted string"
    case .integer, .number: "a number"
    }
  }
}
