import CloudKit

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
