public import Foundation

extension NSSortDescriptor {
  /// Creates a descriptor that sorts records by a field, for use in a `CKQuery`: a custom field, `creationDate`,
  /// `modificationDate`, and so on.
  ///
  /// Foundation on Linux does not sort by key. This descriptor can be used in a query and to sort an array of records.
  public convenience init(key: String?, ascending: Bool) {
    let name = key ?? ""
    self.init(
      keyPath: \CKRecord.itself,
      ascending: ascending,
      comparator: { one, other in
        if let probe = one as? SortKeyProbe {
          probe.key = name
          return .orderedSame
        }
        return PredicateComparison.Operand.field(name).order(one, other)
      }
    )
  }

  /// The key; nil for a descriptor made with a key path.
  public var key: String? {
    if let descriptor = self as? CKLocationSortDescriptor { return descriptor.name }
    // The comparator of another descriptor would trap on the probe.
    guard keyPath == \CKRecord.itself else { return nil }
    let probe = SortKeyProbe()
    _ = comparator(probe, probe)
    return probe.key
  }
}

/// Retrieves the key of a descriptor.
private final class SortKeyProbe {
  var key: String?
}

extension CKRecord {
  /// The root key path of sort descriptors by key, because Foundation creates descriptors only from key paths.
  var itself: CKRecord { self }
}
