import JSONText

/// A zone as one caller sees it.
struct ZoneView {
  let database: DatabaseState
  let zone: ZoneState
  /// The caller's access to another user's zone; `nil` in the caller's own databases and in the public one.
  var access: SharedAccess?

  /// Distinguishes zones of the same name.
  var path: String { access == nil ? zone.name : "\(zone.owner)/\(zone.name)" }
}

/// Identifies a zone among all zones of the emulator.
struct ZoneKey: Hashable, Comparable {
  var database: DatabaseKey
  var zone: String

  static func < (left: ZoneKey, right: ZoneKey) -> Bool {
    (left.database.path, left.zone) < (right.database.path, right.zone)
  }
}

extension Endpoint {
  /// Returns the zone that the call names, or the default zone without a zone ID. (reference 2.1) The shared database
  /// has the zones that others share with the caller, each under its owner's name. [D]
  func view(of zoneID: JSON?) throws(ServerError) -> ZoneView {
    let (name, owner) = try Self.zoneName(zoneID)
    let found: ZoneView?
    if call.route.scope == .shared {
      found = owner.flatMap { sharedView(of: ZoneKey(database: call.route.key(owner: $0), zone: name)) }
    } else {
      let database = database
      let zone = owner == nil || owner == database.owner ? database.zones[name] : nil
      found = zone.map { ZoneView(database: database, zone: $0) }
    }
    guard let found else { throw ServerError(.zoneNotFound, "Zone not found") }
    return found
  }

  /// Returns all zones of the call's database, sorted by name; in the shared database by owner first.
  func views() -> [ZoneView] {
    guard call.route.scope == .shared else {
      let database = database
      return database.zones.values.sorted { $0.name < $1.name }.map { ZoneView(database: database, zone: $0) }
    }
    return world.sharedZones.filter { $0.database.schema == call.route.schema }.sorted().compactMap(sharedView)
  }

  private func sharedView(of key: ZoneKey) -> ZoneView? {
    guard !user.isEmpty, key.database.owner != user, world.sharedZones.contains(key),
      let database = world.databases[key.database], let zone = database.zones[key.zone],
      let access = SharedAccess(of: user, in: zone)
    else { return nil }
    return ZoneView(database: database, zone: zone, access: access)
  }

  /// Returns the version of a record that the caller sees. Each user's own `Users` record always exists. [D]
  func record(_ name: String, in view: ZoneView) -> StoredRecord? {
    if let record = view.zone.records[name] { return view.access?.sees(name) ?? true ? record : nil }
    guard case .user = call.caller, view.database.key.owner == nil, name == user else { return nil }
    let stamp = StoredRecord.Stamp(milliseconds: 0, userRecordName: name)
    let content = StoredRecord.Content(name: name, type: "Users")
    return StoredRecord(content: content, tag: "0", sequence: 0, created: stamp, modified: stamp)
  }
}

extension Route {
  /// Returns the key of a database of the container and environment.
  func key(owner: String?) -> DatabaseKey {
    DatabaseKey(container: container, environment: environment, owner: owner)
  }

  /// The container and environment, in the format of `DatabaseKey.schema`.
  var schema: String { key(owner: nil).schema }
}
