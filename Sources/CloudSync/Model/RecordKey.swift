package import CloudKit

/// Which record: zone, the zone's owner, and name. Names are unique in a zone, not in a database.
package struct RecordKey: Hashable, Sendable, Comparable {
  package var zone: String
  /// Empty for zones of the current user; the wire leaves the owner out then.
  package var owner: String
  package var name: String

  package init(zone: String, owner: String = "", name: String) {
    self.zone = zone
    self.owner = owner
    self.name = name
  }

  package init(_ zone: ZoneKey, _ name: String) {
    self.init(zone: zone.zone, owner: zone.owner, name: name)
  }

  package var zoneKey: ZoneKey { ZoneKey(zone: zone, owner: owner) }

  package static func < (left: RecordKey, right: RecordKey) -> Bool {
    (left.zone, left.owner, left.name) < (right.zone, right.owner, right.name)
  }
}

/// Which zone.
package struct ZoneKey: Hashable, Sendable, Comparable {
  package var zone: String
  /// Empty for zones of the current user.
  package var owner: String

  package init(zone: String, owner: String = "") {
    self.zone = zone
    self.owner = owner
  }

  package static let defaultZone = ZoneKey(zone: WireZoneID.defaultZoneName)

  package var isDefaultZone: Bool { zone == WireZoneID.defaultZoneName }

  /// The zone as the wire names it.
  package var wire: WireZoneID {
    WireZoneID(zoneName: zone, ownerRecordName: owner.isEmpty ? nil : owner)
  }

  package static func < (left: ZoneKey, right: ZoneKey) -> Bool {
    (left.zone, left.owner) < (right.zone, right.owner)
  }
}
