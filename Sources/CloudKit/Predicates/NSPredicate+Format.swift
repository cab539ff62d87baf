public import Foundation

/// Makes predicates of text. All of `NSPredicate` conforms; there is nothing else to conform with it.
///
/// A protocol, because only its initializers can return a subclass, as Apple's `NSPredicate(format:)` does.
public protocol CKPredicateFormat {}

extension NSPredicate: CKPredicateFormat {}

extension CKPredicateFormat where Self: NSPredicate {
  /// Makes a predicate of a text with placeholders, in Apple's grammar.
  ///
  /// A query takes what CloudKit can do: `==`, `!=`, `<`, `<=`, `>`, `>=`, `BETWEEN`, `IN`, `BEGINSWITH`, `CONTAINS` and `ANY`
  /// on lists, `NOT` around one of these; `SELF CONTAINS` and `allTokens TOKENMATCHES[cdl]` for words;
  /// `distanceToLocation:fromLocation:(field, %@) < metres`; joined by `AND`. Anything else, a malformed text or arguments
  /// that do not fit it make the query fail with `CKError.invalidArguments`, naming the part. An argument never becomes
  /// syntax, and what `%K` stands for is checked to be a field's name.
  ///
  /// `evaluate(with:)` takes records and knows the whole grammar. It gives what the server would; what is no record, and any
  /// record for a malformed predicate, does not match.
  public init(format predicateFormat: String, _ args: any CVarArg...) {
    self.init(node: PredicateParser.node(format: predicateFormat, arguments: args))
  }

  /// Makes a predicate of a text with placeholders and a list of arguments, in Apple's grammar.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    self.init(node: PredicateParser.node(format: predicateFormat, arguments: arguments ?? []))
  }

  private init(node: PredicateNode) {
    let predicate = ParsedPredicate(node)
    // Asked for as a compound, it is one.
    guard let made = predicate as? Self ?? NSCompoundPredicate(andPredicateWithSubpredicates: [predicate]) as? Self
    else {
      preconditionFailure("Predicates of text are made as NSPredicate, not as \(Self.self).")
    }
    self = made
  }
}

extension NSPredicate {
  /// Whether the predicate holds for a record, as the server would answer: a condition on a field that the record lacks is
  /// neither true nor false, and such a record does not match, negated or not.
  ///
  /// Foundation's own `evaluate(with:)`, which other callers such as `NSArray.filtered(using:)` reach, says the same, but
  /// for `NSCompoundPredicate`s of the kind `.not`, where it knows true and false only.
  public func evaluate(with record: CKRecord) -> Bool {
    holds(for: record, RecordValues(record), depth: 0) == true
  }

  private func holds(for record: CKRecord, _ values: RecordValues, depth: Int) -> Bool? {
    if let parsed = self as? ParsedPredicate { return parsed.tree.holds(for: values) }
    guard let compound = self as? NSCompoundPredicate else { return evaluate(with: record as Any?) }
    guard depth < PredicateNode.deepest else { return nil }
    let parts = compound.subpredicates
    switch compound.compoundPredicateType {
    case .and: return parts.allHold { $0.holds(for: record, values, depth: depth + 1) }
    case .or: return parts.anyHolds { $0.holds(for: record, values, depth: depth + 1) }
    case .not: return parts.first?.holds(for: record, values, depth: depth + 1).map { !$0 }
    @unknown default: return nil
    }
  }

  /// The tree of any predicate: made from a format, of constants, or joined of such.
  var node: PredicateNode { node(depth: 0) }

  private func node(depth: Int) -> PredicateNode {
    if let parsed = self as? ParsedPredicate { return parsed.tree }
    guard let compound = self as? NSCompoundPredicate else {
      if isEqual(NSPredicate(value: true)) { return .constant(true) }
      if isEqual(NSPredicate(value: false)) { return .constant(false) }
      return .unusable("a predicate made of a block runs on this machine, not on the server")
    }
    guard depth < PredicateNode.deepest else { return .unusable("more than \(PredicateNode.deepest) levels deep") }
    let parts = compound.subpredicates.map { $0.node(depth: depth + 1) }
    switch compound.compoundPredicateType {
    case .and: return .and(parts)
    case .or: return .or(parts)
    case .not: return parts.first.map(PredicateNode.not) ?? .unusable("NOT: of nothing")
    @unknown default: return .unusable("a compound predicate of an unknown kind")
    }
  }
}

/// A predicate that was made of text: Foundation on Linux has predicates of blocks and constants only.
final class ParsedPredicate: NSPredicate {
  let tree: PredicateNode

  init(_ tree: PredicateNode) {
    self.tree = tree
    super.init(value: false)
  }

  /// The predicate itself, which never changes.
  override func copy(with zone: NSZone? = nil) -> Any { self }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    guard let record = object as? CKRecord else { return false }
    return tree.holds(for: RecordValues(record)) == true
  }

  /// The whole text, values included.
  override var predicateFormat: String { PredicateText(tree, values: .shown).text }

  /// The text without its values, which may be private.
  override var description: String { PredicateText(tree, values: .hidden).text }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? ParsedPredicate else { return false }
    return other === self || (tree.isReadable && tree == other.tree)
  }

  override var hash: Int { tree.hashValue }
}
