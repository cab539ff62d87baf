public import Foundation

/// Creates predicates from format strings and from trees. Only `NSPredicate` conforms to it.
///
/// It is a protocol because only protocol initializers can return a subclass, as Apple's `NSPredicate(format:)` does.
public protocol CKPredicateFormat {}

extension NSPredicate: CKPredicateFormat {}

extension CKPredicateFormat where Self: NSPredicate {
  /// Creates a predicate from a format string with placeholders, in Apple's grammar.
  ///
  /// Queries support what CloudKit supports: `==`, `!=`, `<`, `<=`, `>`, `>=`, `BETWEEN`, `IN`, `BEGINSWITH`,
  /// `CONTAINS`, `ANY` on lists, and `NOT` around one of these; `SELF CONTAINS` and `allTokens TOKENMATCHES[cdl]` for
  /// words; `distanceToLocation:fromLocation:(field, %@) < metres`; `now()`, which is the time when the query is sent.
  /// Conditions are joined by `AND`. A query with anything else, with a malformed format or with arguments that do not
  /// match it fails with `CKError.invalidArguments`, and the message names the part. Arguments are never parsed as
  /// syntax, and an argument for `%K` must be a valid field name.
  ///
  /// `evaluate(with:)` takes records and supports the whole grammar. It returns the server's result. Objects that are
  /// not records never match, and a malformed predicate matches no record.
  public init(format predicateFormat: String, _ args: any CVarArg...) {
    self.init(node: PredicateParser.node(format: predicateFormat, arguments: args))
  }

  /// Creates a predicate from a format string with placeholders and a list of arguments, in Apple's grammar.
  public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    self.init(node: PredicateParser.node(format: predicateFormat, arguments: arguments ?? []))
  }

  /// Creates a predicate from its tree.
  package init(node: PredicateNode) {
    let predicate = ParsedPredicate(node)
    // Called on NSCompoundPredicate, an initializer returns a compound predicate.
    guard let made = predicate as? Self ?? NSCompoundPredicate(andPredicateWithSubpredicates: [predicate]) as? Self
    else {
      preconditionFailure("Only NSPredicate and NSCompoundPredicate can be created, not \(Self.self).")
    }
    self = made
  }
}

extension NSPredicate {
  /// Returns the predicate that all of some trees must match; a compound predicate if there are several, so that a
  /// program can look at its parts.
  package static func all(of nodes: [PredicateNode]) -> NSPredicate {
    switch nodes.count {
    case 0: NSPredicate(value: true)
    case 1: NSPredicate(node: nodes[0])
    default: NSCompoundPredicate(andPredicateWithSubpredicates: nodes.map { NSPredicate(node: $0) })
    }
  }

  /// Whether the predicate matches a record, as the server would decide. A condition on a field that the record lacks
  /// is neither true nor false; such a record does not match, negated or not.
  ///
  /// Foundation's own `evaluate(with:)`, which callers such as `NSArray.filtered(using:)` use, returns the same except
  /// for an `NSCompoundPredicate` of type `.not`, where it only distinguishes true and false.
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

  /// The tree of any predicate: one made from a format, a constant, or a compound of these.
  package var node: PredicateNode { node(depth: 0) }

  private func node(depth: Int) -> PredicateNode {
    if let parsed = self as? ParsedPredicate { return parsed.tree }
    guard let compound = self as? NSCompoundPredicate else {
      return constant.map(PredicateNode.constant) ?? .unusable("a predicate made from a block cannot run on the server")
    }
    guard depth < PredicateNode.deepest else {
      return .unusable("conditions are nested more than \(PredicateNode.deepest) levels deep")
    }
    let parts = compound.subpredicates.map { $0.node(depth: depth + 1) }
    switch compound.compoundPredicateType {
    case .and: return .and(parts)
    case .or: return .or(parts)
    case .not: return parts.first.map(PredicateNode.not) ?? .unusable("NOT: the condition is missing")
    @unknown default: return .unusable("unknown compound predicate type")
    }
  }
}

/// A predicate with a tree. Foundation on Linux only has predicates of blocks and constants.
final class ParsedPredicate: NSPredicate {
  let tree: PredicateNode

  init(_ tree: PredicateNode) {
    self.tree = tree
    super.init(value: false)
  }

  /// Returns the predicate itself, because it is immutable.
  override func copy(with zone: NSZone? = nil) -> Any { self }

  override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    guard let record = object as? CKRecord else { return false }
    return tree.holds(for: RecordValues(record)) == true
  }

  /// The format with its values.
  override var predicateFormat: String { tree.text(showingValues: true) }

  /// The format without its values, which may be private.
  override var description: String { tree.text() }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? ParsedPredicate else { return false }
    return other === self || (tree.isReadable && tree == other.tree)
  }

  override var hash: Int { tree.hashValue }
}
