public import Foundation

extension NSSortDescriptor {
  /// Sorts records by a field, for use in a `CKQuery`: a field of their own, `creationDate`, `modificationDate`, …
  ///
  /// Foundation on Linux has no sorting by key. This descriptor can be used in a query, and to sort an array of records.
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

  /// The key; nil for a descriptor that was made with a key path.
  public var key: String? {
    if let descriptor = self as? CKLocationSortDescriptor { return descriptor.name }
    // The comparator of a foreign descriptor would trap on the probe.
    guard keyPath == \CKRecord.itself else { return nil }
    let probe = SortKeyProbe()
    _ = comparator(probe, probe)
    return probe.key
  }

  /// The sort key as the wire spells it.
  ///
  /// - Throws: `CKError.invalidArguments` for a descriptor without a key that could name a field.
  func wireSort() throws(CKError) -> WireSort {
    guard let key else { throw .invalidArguments("A sort descriptor for a query is made with a key, not a key path.") }
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

/// Asks a descriptor for its key.
private final class SortKeyProbe {
  var key: String?
}

extension CKRecord {
  /// Where sort descriptors by key start from: Foundation makes them with key paths only.
  var itself: CKRecord { self }
}

extension FieldValue? {
  /// Absent values come first, as on the server; values that have no order are the same.
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
