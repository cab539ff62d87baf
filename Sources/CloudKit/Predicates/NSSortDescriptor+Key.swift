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
        return one.sortValue(name).compared(to: other.sortValue(name))
      }
    )
  }

  /// The key; nil for a descriptor that was made with a key path.
  public var key: String? {
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
    do throws(PredicateFailure) {
      return WireSort(WireFieldName(framework: try PredicateArgument.fieldName(key)), ascending: ascending)
    } catch {
      throw .invalidArguments("The sort descriptor cannot be used in a query: \(error.message).")
    }
  }
}

/// Asks a descriptor for its key.
private final class SortKeyProbe {
  var key: String?
}

extension CKRecord {
  fileprivate var itself: CKRecord { self }

  fileprivate func sortValue(_ key: String) -> NSObject? {
    switch WireFieldName.system[key] {
    case "recordName": NSString(string: recordID.recordName)
    case "createdTimestamp": creationDate.map { NSDate(timeIntervalSince1970: $0.timeIntervalSince1970) }
    case "modifiedTimestamp": modificationDate.map { NSDate(timeIntervalSince1970: $0.timeIntervalSince1970) }
    default: value(forKey: key) as? NSObject
    }
  }
}

extension NSObject? {
  /// Absent values come first, as Foundation sorts them; values that have no order are the same.
  fileprivate func compared(to other: NSObject?) -> ComparisonResult {
    switch (self, other) {
    case (nil, nil): .orderedSame
    case (nil, _): .orderedAscending
    case (_, nil): .orderedDescending
    case (let one as NSNumber, let other as NSNumber): one.compare(other)
    case (let one as NSDate, let other as NSDate):
      one.compare(Date(timeIntervalSinceReferenceDate: other.timeIntervalSinceReferenceDate))
    case (let one as NSString, let other as NSString): one.compare(String(describing: other))
    default: .orderedSame
    }
  }
}
