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
extension EmulatorCore {
  /// Returns the record changes of a commit that subscriptions may match. Call it before the commit is applied.
  func recordEvents(of commit: Commit) -> [RecordEvent] {
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

  /// Notifies the subscribers of a commit.
  ///
  /// - Parameter audience: The participants of the affected shares before the commit.
  func notify(of commit: Commit, _ events: [RecordEvent], audience: Set<String>) {
    guard !subscriptions.isEmpty, let database = databases[commit.database] else { return }
    let zones = commit.zones
    guard !zones.isEmpty else { return }
    let scope: Route.Scope = commit.database.owner == nil ? .public : .private
    tell(commit.database, scope, database, zones: zones, events)
    for user in audience.union(self.audience(of: commit)).sorted() {
      let home = DatabaseKey(
        container: commit.database.container,
        environment: commit.database.environment,
        owner: user
      )
      tell(home, .shared, database, zones: zones, [])
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
        (zone, name, shares) = (place, record.name, [record.left].compactMap(\.self))
      case .buried(let place, let tombstone, _): (zone, name, shares) = (place, tombstone.name, tombstone.shares)
      case .zoneDeleted(let place, _): (zone, name, shares) = (place, "", Array(database.zones[place]?.shares ?? []))
      default: continue
      }
      guard let zone = database.zones[zone], !zone.shares.isEmpty else { continue }
      for share in shares + [zone.share(of: name) ?? "", ShareState.zoneShareName] {
        users.formUnion(zone.records[share]?.content.sharing?.members ?? [])
      }
    }
    return users
  }

  /// Notifies the subscribers of one user's database, or of the public database.
  private func tell(
    _ home: DatabaseKey,
    _ scope: Route.Scope,
    _ database: DatabaseState,
    zones: Set<String>,
    _ events: [RecordEvent]
  ) {
    let all = subscriptions[home]?.values.filter { $0.key.scope == scope } ?? []
    for subscription in all.sorted(by: { $0.key < $1.key }) {
      switch subscription.kind {
      case .database: push(subscription, "met", [:], in: database)
      case .zone:
        guard let zone = subscription.zone, zone.owner == database.owner, zones.contains(zone.name) else { continue }
        push(subscription, "fet", ["zid": .string(zone.name), "zoid": .string(zone.owner)], in: database)
      case .query(let type, let filters):
        let recordType = schemas[database.key.schema]?[type] ?? CKSchema.RecordType()
        for event in events where event.record.type == type && subscription.covers(event, in: database) {
          let isMatch = filters.allSatisfy { filter in
            // A filter on a field that no write has added yet matches nothing.
            (try? QueryFilter(filter, type: recordType, assumptions: configuration.assumptions))?.matches(event.record)
              ?? false
          }
          // Users are not notified of records that they may not read. [E]
          guard isMatch, scope != .public || guards(of: subscription.key.owner).mayRead(event.record, recordType) else {
            continue
          }
          push(subscription, event, in: database)
          guard subscription.firesOnce else { continue }
          // If the commit fails, the subscription fires once more, which is harmless.
          try? commit([.unsubscribed(subscription.key)], to: home)
          break
        }
      }
    }
  }

  private func push(_ subscription: Subscription, _ event: RecordEvent, in database: DatabaseState) {
    let details: JSONObject = [
      "rid": .string(event.record.name), "zid": .string(event.zone), "zoid": .string(database.owner),
      "fo": .int(event.firing.number),
    ]
    push(subscription, "qry", details, record: event.record, in: database)
  }

  private func push(
    _ subscription: Subscription,
    _ kind: String,
    _ details: JSONObject,
    record: StoredRecord? = nil,
    in database: DatabaseState
  ) {
    pushes += 1
    let (container, environment) = (database.key.container, database.key.environment)
    let notification = Notification(
      subscription: subscription,
      container: container,
      environment: environment,
      id: Derived.uuid("\(seed)/push/\(database.key.path)/\(database.counter)/\(pushes)").lowercased(),
      kind: kind,
      details: details,
      record: record
    )
    let owner = DatabaseKey(container: container, environment: environment, owner: subscription.key.owner)
    push(notification.payload, to: owner)
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
