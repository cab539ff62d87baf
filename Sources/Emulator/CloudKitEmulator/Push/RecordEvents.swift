import CloudKitSchema
import JSONText

/// The change of one record by a commit, as query subscriptions see it.
struct RecordEvent {
  var firing: Subscription.Firing
  var zone: String
  /// The new version; for a deletion, the last version.
  var record: StoredRecord
}

/// Each commit creates notifications for all subscribers, including the writer. The framework does not notify the
/// device that wrote, but the protocol does not distinguish devices, so excluding the writer would exclude the writer's
/// other devices too. [E]
extension World {
  /// Returns the record changes of a commit that subscriptions may match. Call it before the commit is applied.
  func events(of commit: Commit) -> [RecordEvent] {
    guard subscriptions[commit.database]?.isEmpty == false else { return [] }
    return commit.changes.compactMap { change in
      switch change {
      case .saved(let zone, let record, let old):
        // A version that only reappears in the change feed is not an update.
        guard old?.tag != record.tag else { return nil }
        return RecordEvent(firing: old == nil ? .create : .update, zone: zone, record: record)
      case .buried(let zone, _, let old):
        return old.map { RecordEvent(firing: .delete, zone: zone, record: $0) }
      default: return nil
      }
    }
  }

  /// Returns the notifications of a commit that has been applied.
  ///
  /// - Parameter audience: The participants of the affected shares before the commit.
  func notifications(of commit: Commit, _ events: [RecordEvent], audience: Set<String>) -> [Notification] {
    guard !subscriptions.isEmpty, let database = databases[commit.database] else { return [] }
    let zones = commit.zones
    guard !zones.isEmpty else { return [] }
    var home = commit.database
    let own = notifications(home, home.owner == nil ? .public : .private, database, zones, events)
    return audience.union(self.audience(of: commit)).sorted().reduce(into: own) { found, user in
      home.owner = user
      found += notifications(home, .shared, database, zones, [])
    }
  }

  /// Returns the users who participate in the shares of the records that a commit changes.
  func audience(of commit: Commit) -> Set<String> {
    guard !subscriptions.isEmpty, !sharedZones.isEmpty, let database = databases[commit.database] else { return [] }
    var users: Set<String> = []
    for change in commit.changes {
      let (zone, name, shares): (String, String, [String])
      switch change {
      case .saved(let place, let record, _):
        (zone, name, shares) = (place, record.name, [record.formerShare].compactMap(\.self))
      case .buried(let place, let tombstone, _): (zone, name, shares) = (place, tombstone.name, tombstone.shares)
      case .zoneDeleted(let place, _): (zone, name, shares) = (place, "", Array(database.zones[place]?.shares ?? []))
      default: continue
      }
      guard let zone = database.zones[zone], !zone.shares.isEmpty else { continue }
      for share in shares + [zone.share(of: name) ?? "", StoredShare.zoneShareName] {
        users.formUnion(zone.records[share]?.content.sharing?.members ?? [])
      }
    }
    return users
  }

  /// Returns the notifications for the subscribers of one user's database, or of the public database.
  private func notifications(
    _ home: DatabaseKey,
    _ scope: Route.Scope,
    _ database: DatabaseState,
    _ zones: Set<String>,
    _ events: [RecordEvent]
  ) -> [Notification] {
    let all = subscriptions[home]?.values.filter { $0.key.scope == scope } ?? []
    return all.sorted { $0.key < $1.key }.flatMap { subscription -> [Notification] in
      let notification = { (kind: String, details: JSONObject, record: StoredRecord?) in
        Notification(
          subscription: subscription,
          database: database.key,
          kind: kind,
          details: details,
          record: record
        )
      }
      switch subscription.kind {
      case .database: return [notification("met", [:], nil)]
      case .zone:
        guard let zone = subscription.zone, zone.owner == database.owner, zones.contains(zone.name) else { return [] }
        return [notification("fet", ["zid": .string(zone.name), "zoid": .string(zone.owner)], nil)]
      case .query(let type, let filters):
        let recordType = schemas[database.key.schema]?[type] ?? CKSchema.RecordType()
        // A filter on a field that no write has added yet matches nothing.
        let conditions = filters.map { filter in
          try? QueryFilter(filter, type: recordType, assumptions: configuration.assumptions)
        }
        // Users are not notified of records that they may not read. [E]
        let guards = scope == .public ? guards(of: subscription.key.owner) : nil
        var found: [Notification] = []
        for event in events
        where event.record.type == type && subscription.covers(event, in: database)
          && conditions.allSatisfy({ $0?.matches(event.record) ?? false })
          && guards?.mayRead(event.record, recordType) ?? true
        {
          let details: JSONObject = [
            "rid": .string(event.record.name), "zid": .string(event.zone), "zoid": .string(database.owner),
            "fo": .int(event.firing.number),
          ]
          found.append(notification("qry", details, event.record))
          if subscription.firesOnce { break }
        }
        return found
      }
    }
  }
}

extension Subscription {
  fileprivate func covers(_ event: RecordEvent, in database: DatabaseState) -> Bool {
    guard firesOn.contains(event.firing) else { return false }
    if let zone { return zone.name == event.zone && zone.owner == database.owner }
    return isZoneWide || event.zone == ZoneState.defaultName
  }
}

extension Commit {
  /// The names of the zones whose content or existence changes.
  fileprivate var zones: Set<String> {
    var names = Set<String>()
    for change in changes {
      switch change {
      case .saved(let zone, _, _), .buried(let zone, _, _): names.insert(zone)
      case .zoneCreated(let row): names.insert(row.name)
      case .zoneDeleted(let name, _): names.insert(name)
      default: break
      }
    }
    return names
  }
}
