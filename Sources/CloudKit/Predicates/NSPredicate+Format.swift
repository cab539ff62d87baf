public import Foundation

extension NSPredicate {
  /// Makes a predicate of a text with placeholders, for use in a `CKQuery`.
  ///
  /// Takes what CloudKit can do: `==`, `!=`, `<`, `<=`, `>`, `>=`, `IN`, `BEGINSWITH`, `CONTAINS`, `BETWEEN`, `ANY`, joined
  /// by `AND`; `TRUEPREDICATE`; `distanceToLocation:fromLocation:(field, %@) < metres`; the placeholders `%@`, `%K`, `%d`,
  /// `%f` and their like. Anything else makes the query fail with `CKError.invalidArguments`, naming the part. An argument
  /// never becomes syntax, and what `%K` stands for is checked to be a field's name.
  ///
  /// Foundation on Linux has no predicates of this kind. This one can be read by `CKQuery` and nothing else: evaluating it
  /// against an object traps.
  public convenience init(format predicateFormat: String, _ arguments: Any...) {
    self.init(node: PredicateParser.node(format: predicateFormat, arguments: arguments))
  }

  /// Makes a predicate of a text with placeholders and a list of arguments, for use in a `CKQuery`.
  public convenience init(format predicateFormat: String, argumentArray arguments: [Any]?) {
    self.init(node: PredicateParser.node(format: predicateFormat, arguments: arguments ?? []))
  }

  /// Foundation's predicate can hold a block and nothing else of ours, so the block hands the tree to whoever asks with a
  /// probe. Copies, and parts of compound predicates, keep the block.
  private convenience init(node: PredicateNode) {
    self.init(block: { object, _ in
      guard let probe = object as? PredicateProbe else {
        preconditionFailure("A predicate made from a format can be used in a CKQuery only.")
      }
      probe.node = node
      return true
    })
  }

  /// The tree of any predicate: made from a format, of constants, or joined of such.
  var node: PredicateNode {
    if let compound = self as? NSCompoundPredicate {
      let parts = compound.subpredicates.map(\.node)
      switch compound.compoundPredicateType {
      case .and: return .and(parts)
      case .or where parts.count == 1: return parts[0]
      case .or: return .unusable("OR: CloudKit joins conditions with AND only")
      case .not: return .unusable("NOT: CloudKit has no negation of conditions")
      @unknown default: return .unusable("a compound predicate of an unknown kind")
      }
    }
    if isEqual(NSPredicate(value: true)) { return .everything }
    if isEqual(NSPredicate(value: false)) { return .unusable("FALSEPREDICATE: no query finds nothing") }
    let probe = PredicateProbe()
    _ = evaluate(with: probe)
    return probe.node ?? .unusable("a predicate made of a block runs on this machine, not on the server")
  }
}

/// Asks a predicate for its tree.
private final class PredicateProbe {
  var node: PredicateNode?
}
