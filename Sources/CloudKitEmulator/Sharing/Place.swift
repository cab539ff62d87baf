import JSONText

/// A zone as one caller sees it.
struct Place {
  let database: DatabaseState
  let zone: ZoneState
  /// The caller's access to another user's zone; `nil` in the caller's own databases and in the public one.
  var access: SharedAccess?

  /// Distinguishes zones of the same name.
  var path: String { access == nil ? zone.name : "\(zone.owner)/\(zone.name)" }

  /// Identifies a zone among all zones of the emulator.
  struct Key: Hashable, Comparable {
    var database: DatabaseKey
    var zone: String

    static func < (left: Key, right: Key) -> Bool {
      (left.database.path, left.zone) < (right.database.path, right.zone)
    }
  }
}

extension EmulatorCore {
  /// Returns the zone that a call names, or the default zone without a zone ID. (reference 2.1) The shared database has
  /// the zones that others share with the caller, each under its owner's name. [D]
  func place(_ zoneID: JSON?, for call: Call) throws(ServerError) -> Place {
    guard call.route.scope == .shared else {
      let database = database(for: call)
      return Place(database: database, zone: try zone(zoneID, in: database))
    }
    let (name, owner) = try Self.zoneName(zoneID)
    let key = DatabaseKey(container: call.route.container, environment: call.route.environment, owner: owner)
    guard owner != nil, let place = sharedPlace(Place.Key(database: key, zone: name), for: call.caller.recordName)
    else {
      throw ServerError(.zoneNotFound, "Zone not found")
    }
    return place
  }

  /// Returns all zones of the call's database, sorted by name; in the shared database by owner first.
  func places(for call: Call) -> [Place] {
    guard call.route.scope == .shared else {
      let database = database(for: call)
      return database.zones.values.sorted { $0.name < $1.name }.map { Place(database: database, zone: $0) }
    }
    return sharedZones.filter { $0.database.schema == call.route.schema }.sorted()
      .compactMap { sharedPlace($0, for: call.caller.recordName) }
  }

  private func sharedPlace(_ key: Place.Key, for user: String?) -> Place? {
    guard let user, key.database.owner != user, sharedZones.contains(key), let database = databases[key.database],
      let zone = database.zones[key.zone], let access = SharedAccess(of: user, in: zone)
    else { return nil }
    return Place(database: database, zone: zone, access: access)
  }

  /// Returns the version of a record that the caller sees. Each user's own `Users` record always exists. [D]
  func record(_ name: String, in place: Place, for caller: Caller) -> StoredRecord? {
    if let record = place.zone.records[name] { return place.access?.sees(name) ?? true ? record : nil }
    guard case .user = caller, place.database.key.owner == nil, name == caller.recordName else { return nil }
    let stamp = StoredRecord.Stamp(milliseconds: 0, userRecordName: name)
    let content = StoredRecord.Content(name: name, type: "Users")
    return StoredRecord(content: content, tag: "0", sequence: 0, created: stamp, modified: stamp)
  }
}

extension Route {
  /// The container and environment, in the format of `DatabaseKey.schema`.
  var schema: String { "\(container)/\(environment)" }
}
