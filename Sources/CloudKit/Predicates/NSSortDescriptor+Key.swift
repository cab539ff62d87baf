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
        guard let one = one as? CKRecord, let other = other as? CKRecord else { return .orderedSame }
        let field = WireFieldName(framework: name)
        return RecordValues(one).value(field).compared(to: RecordValues(other).value(field))
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

  /// Returns the sort order in its wire encoding.
  ///
  /// - Throws: `CKError.invalidArguments` for a descriptor without a key, or with a key that is not a field name.
  func wireSort() throws(CKError) -> WireSort {
    guard let key else { throw .invalidArguments("A sort descriptor for a query needs a key, not a key path.") }
    let name: WireFieldName
    do throws(PredicateFailure) {
      name = WireFieldName(framework: try PredicateArgument.fieldName(key))
    } catch {
      throw .invalidArguments("The sort descriptor cannot be used in a query: \(error.message).")
    }
    var sort = WireSort(name, ascending: ascending)
    sort.relativeLocation = try (self as? CKLocationSortDescriptor)?.relativeLocation.wire(key: key)
    return sort
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

extension FieldValue? {
  /// Compares two values. Missing values come first, as on the server; values without a common order count as equal.
  func compared(to other: FieldValue?) -> ComparisonResult {
    switch (self, other) {
    case (nil, nil): return .orderedSame
    case (nil, _): return .orderedAscending
    case (_, nil): return .orderedDescending
    case (let one?, let other?):
      let order = one.order(other, []) ?? 0
      return order < 0 ? .orderedAscending : order > 0 ? .orderedDescending : .orderedSame
    }
  }
}
