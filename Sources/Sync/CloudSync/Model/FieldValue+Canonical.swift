import CloudKit
import JSONText

extension FieldValue {
  /// The value in the store's only encoding, so that equal values compare equal.
  ///
  /// Each reply of a server may encode differently the addresses, receipts and keys of assets, and the zone of a
  /// reference to the record's own zone; these differences are not edits.
  func canonical(in zone: ZoneKey) -> FieldValue {
    switch self {
    case .asset(var asset):
      (asset.downloadURL, asset.receipt, asset.wrappingKey, asset.referenceChecksum) = (nil, nil, nil, nil)
      return .asset(asset)
    case .reference(var reference):
      // The server names the owner of the user's own zones; the store does not.
      if zone.owner.isEmpty { reference.zoneID?.ownerRecordName = nil }
      if let target = reference.zoneID, target.zoneName == zone.zone, (target.ownerRecordName ?? "") == zone.owner {
        reference.zoneID = nil
      }
      return .reference(reference)
    case .list(let element, let values): return .list(element, values.map { $0.canonical(in: zone) })
    case .encrypted(let value): return .encrypted(value.canonical(in: zone))
    case .string, .int64, .double, .bytes, .timestamp, .location, .other: return self
    }
  }
}

extension FieldValue {
  /// Whether it is a list without elements. The server returns one without its element type, or not at all.
  var isEmptyList: Bool {
    switch self {
    case .list(_, let elements): elements.isEmpty
    case .other(_, .array(let elements)): elements.isEmpty
    case .encrypted(let value): value.isEmptyList
    case .string, .int64, .double, .bytes, .timestamp, .location, .reference, .asset, .other: false
    }
  }
}

extension FieldValue? {
  /// Whether a field holds nothing: it is missing, or an empty list.
  var isAbsent: Bool { self?.isEmptyList ?? true }

  /// Whether two values of a field are the same. Empty lists of any element type and no value are.
  func isSame(as other: FieldValue?) -> Bool { self == other || (isAbsent && other.isAbsent) }
}

extension [String: FieldValue] {
  /// Whether the fields of two versions of a record are the same.
  func isSame(as others: [String: FieldValue]) -> Bool {
    self == others || Set(keys).union(others.keys).allSatisfy { self[$0].isSame(as: others[$0]) }
  }
}
