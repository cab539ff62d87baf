import CloudKit

extension FieldValue {
  /// The value in the one spelling in which the store keeps it, so that equal values compare equal.
  ///
  /// A server spells anew in each answer the addresses, receipts and keys of assets, and the zone of a reference that lies in the
  /// record's own zone; neither is an edit of anybody's.
  func canonical(in zone: ZoneKey) -> FieldValue {
    switch self {
    case .asset(var asset):
      (asset.downloadURL, asset.receipt, asset.wrappingKey, asset.referenceChecksum) = (nil, nil, nil, nil)
      return .asset(asset)
    case .reference(var reference):
      // One's own zones are not told apart by their owner, which the server names and we do not.
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
