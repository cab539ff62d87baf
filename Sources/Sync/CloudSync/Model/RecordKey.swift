package import CloudKit

/// Identifies a record: zone, zone owner and name. Names are unique in a zone, not in a database.
///
/// Names are compared by their bytes, as files and servers do, because Swift takes two encodings of an accented letter
/// for equal.
package struct RecordKey: Hashable, Sendable, Comparable {
  package var zone: String
  /// Empty for zones of the current user; the wire omits the owner then.
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

  /// The title of an operation, as messages have it: `Task/t1041`, or `zone notes` for one of a zone, which has no
  /// name.
  package func title(type: String?) -> String {
    name.isEmpty ? "zone \(zone)" : [type, name].compactMap(\.self).joined(separator: "/")
  }

  package static func == (left: RecordKey, right: RecordKey) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) && left.zoneKey == right.zoneKey
  }

  package static func < (left: RecordKey, right: RecordKey) -> Bool {
    guard left.zoneKey == right.zoneKey else { return left.zoneKey < right.zoneKey }
    return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
  }
}

/// Identifies a zone. Names are compared by their bytes.
package struct ZoneKey: Hashable, Sendable, Comparable, Codable {
  package var zone: String
  /// Empty for zones of the current user.
  package var owner: String

  package init(zone: String, owner: String = "") {
    self.zone = zone
    self.owner = owner
  }

  package static let defaultZone = ZoneKey(zone: WireZoneID.defaultZoneName)

  package var isDefaultZone: Bool { zone == WireZoneID.defaultZoneName }

  /// Whether the current user can create it.
  var canBeCreated: Bool { owner.isEmpty && !isDefaultZone }

  /// The zone as a sentence names it: with its owner, if that is another user.
  package var title: String { owner.isEmpty ? zone : "\(zone) of \(owner)" }

  /// The zone's identifier on the wire.
  package var wire: WireZoneID {
    WireZoneID(zoneName: zone, ownerRecordName: owner.isEmpty ? nil : owner)
  }

  package static func == (left: ZoneKey, right: ZoneKey) -> Bool {
    left.zone.utf8.elementsEqual(right.zone.utf8) && left.owner.utf8.elementsEqual(right.owner.utf8)
  }

  package static func < (left: ZoneKey, right: ZoneKey) -> Bool {
    guard left.zone.utf8.elementsEqual(right.zone.utf8) else {
      return left.zone.utf8.lexicographicallyPrecedes(right.zone.utf8)
    }
    return left.owner.utf8.lexicographicallyPrecedes(right.owner.utf8)
  }
}

/// The names of zones in lists: with their owners where several users have a zone of that name.
package struct ZoneTitles: Hashable, Sendable {
  private let ambiguous: Set<String>

  package init(_ zones: [ZoneKey]) {
    ambiguous = Set(Dictionary(grouping: zones, by: \.zone).filter { $0.value.count > 1 }.keys)
  }

  package subscript(zone: ZoneKey) -> String { ambiguous.contains(zone.zone) ? zone.title : zone.zone }
}
