import CloudKit
import CloudKitEmulator
import Foundation
import TestSupport

@testable import CloudSync

/// What devices do, and what operators do on them.
extension SimulatedWorld {
  var zones: [ZoneKey] {
    scope.database == .public ? [.defaultZone] : [ZoneKey(zone: "A"), ZoneKey(zone: "B"), Self.fleeting, Self.renewed]
  }

  func zone(_ index: Int) -> ZoneKey { zones[index % zones.count] }

  /// One of those in which anything may be.
  private func anyZone() -> ZoneKey { zone(random.below(swarm.zoneRenewal > 0 ? 4 : 3)) }

  private func type(of key: RecordKey) -> String { Self.types[Int(key.name.utf8.last ?? 0) % 2] }

  private func kept(_ index: Int) -> RecordKey { RecordKey(zone(index % 2), "k\(index)") }
  private func loose() -> RecordKey { RecordKey(anyZone(), "x\(random.below(4))") }

  private func owned(_ device: SimulatedDevice) -> RecordKey {
    let index = random.below(device === devices[0] && swarm.zoneRenewal > 0 ? 4 : 3)
    return RecordKey(index == 3 ? zone(3) : zone(index % 2), "o\(device.name.dropFirst(7))-\(index)")
  }

  /// Of records that begin with `k`, which are never deleted, every device writes a field of its own, besides the one
  /// that all of them fight for; those with `o` are one device's alone, those with `x` anybody's.
  func change(_ device: SimulatedDevice, in only: ZoneKey? = nil) throws -> Change {
    var key = [kept(random.below(swarm.records)), loose(), owned(device)][random.below(3)]
    if let only, key.zoneKey != only {
      let isOwn = only == Self.renewed && device === devices[0] && random.below(2) == 0
      key = RecordKey(only, isOwn ? "o\(device.name.dropFirst(7))-3" : "x\(random.below(4))")
    }
    counter += 1
    // Now and then what it has been before: a value that is taken back.
    let value = random.below(6) == 0 ? Int64(random.below(2)) : counter
    var changes = FieldChanges(values: [device.field: .int64(value)])
    switch random.below(8) {
    case 0, 1, 7: changes["shared"] = .int64(Int64(random.below(3)))
    case 2: changes["shared"] = nil
    case 3:
      let target = kept(random.below(swarm.records))
      // The emulator forgets the zone of what is referred to, so that a record of which more is known would be another.
      if target.zoneKey == key.zoneKey || key.name.hasPrefix("x") {
        changes["link"] = reference(to: target, "NONE", from: key)
      }
    // Rings come about by themselves among a few.
    case 4:
      let target = kept(random.below(swarm.records))
      if target.zoneKey == key.zoneKey { changes["need"] = reference(to: target, "VALIDATE", from: key) }
    case 6:
      let target = kept(random.below(swarm.records))
      if target.zoneKey == key.zoneKey, target.zoneKey != .defaultZone, !Intents.isKept(key.name) {
        changes[FieldChanges.parent] = reference(to: target, "NONE", from: key)
      }
    case 5:
      let target = loose()
      if target.zoneKey == key.zoneKey, key.name.hasPrefix("x"), target != key {
        changes["owner"] = reference(to: target, random.below(3) == 0 ? "VALIDATE" : "DELETE_SELF", from: key)
      }
    default: break
    }
    guard swarm.hasAssets, random.below(3) == 0 else { return Change(key, .save(type: type(of: key), changes)) }
    // Few files, so that some are on the server already, in this record or another.
    let size = 10 + random.below(3)
    let file = Intents.isKept(key.name) ? "file_\(device.field)" : "file"
    changes[file] = .asset(WireAsset(size: Int64(size)))
    let sources = [file: [AssetSource(file: try folder.file(of: size))]]
    return Change(key, .save(type: type(of: key), changes), assets: sources)
  }

  private func reference(to target: RecordKey, _ action: String, from key: RecordKey) -> FieldValue {
    let zone = target.zoneKey == key.zoneKey ? nil : target.zoneKey.wire
    return .reference(WireReference(recordName: target.name, zoneID: zone, action: action))
  }

  func deletion(_ device: SimulatedDevice) throws -> Change {
    let key = random.below(3) == 0 ? loose() : owned(device)
    if random.below(4) > 0, let record = try device.store.current(key.recordID) { device.drafts[key] = record }
    return Change(key, .delete)
  }

  /// The app saves a record of the framework's: as it reads it now, or as it has kept it since it read or saved it.
  func editRecord(_ device: SimulatedDevice) throws {
    let inHand = device.drafts.keys.sorted()
    // Those first that were deleted.
    let gone = inHand.filter(intents.isDeleted)
    let choice = gone.isEmpty ? inHand : gone
    let any = [kept(random.below(swarm.records)), loose(), owned(device)][random.below(3)]
    let key = choice.isEmpty || random.below(gone.isEmpty ? 2 : 4) == 0 ? any : choice[random.below(choice.count)]
    let isDeleted = intents.isDeleted(key)
    // Kept while it wrote otherwise, one of its own would be in conflict with that.
    let mayBeOld = isDeleted || !Intents.isOwned(key.name)
    let old = mayBeOld && random.below(4) > 0 ? device.drafts[key] : nil
    let record =
      try old ?? device.store.current(key.recordID) ?? CKRecord(recordType: type(of: key), recordID: key.recordID)
    counter += 1
    var changes = FieldChanges()
    if old == nil || !Intents.isKept(key.name) { changes[device.field] = .int64(counter) }
    if random.below(3) == 0 { changes["shared"] = random.below(2) == 0 ? nil : .int64(Int64(random.below(3))) }
    for name in changes.names {
      if case .int64(let number)? = changes[name] { record[name] = number } else { record[name] = nil as Int64? }
    }
    do { try device.store.save([record]) } catch let error as StoreError where error.kind == .invalid {
      return note("\(device.name) cannot save \(key.name): \(error.message)")
    }
    device.drafts[key] = record
    // It is there again with all that the app has of it, but for files.
    if old != nil, isDeleted {
      census.count("deleted record saved")
      changes.apply(FieldChanges(values: try record.queueFields().filter { $0.value.assets == nil }))
    } else if old != nil {
      census.count("old reading saved")
    }
    let change = Change(key, .save(type: type(of: key), changes))
    intents.accept(change, by: device)
    note("\(device.name) saves\(old == nil ? "" : " what it kept of") \(change.text)")
  }

  func tally(_ device: SimulatedDevice) -> Tally {
    let key = kept(random.below(swarm.records))
    counter += 1
    return Tally(
      key: key,
      type: type(of: key),
      element: counter,
      takesOut: random.below(3) == 0,
      hasRules: swarm.changesHaveRules
    )
  }

  func editList(_ device: SimulatedDevice) throws {
    guard let tally = try tally(device).accepted(by: device.store) else { return }
    remember(tally, device)
  }

  func remember(_ tally: Tally, _ device: SimulatedDevice) {
    intents.accept(tally, by: device, onServer: listed[tally.key] ?? [])
    note("\(device.name): \(tally.text)")
  }

  /// The zone goes with what is in it, and is filled anew, perhaps at once.
  func renewZone(_ device: SimulatedDevice) throws {
    let accepted = try device.store.enqueueZoneDeletion(Self.renewed)
    note("\(device.name) deletes zone D: \(accepted)")
    if case .refused = accepted { return }
    census.count("zone to be made anew")
    intents.deleteAll(in: Self.renewed)
    for _ in 0..<random.below(4) { try enqueue([try change(device, in: Self.renewed)], device) }
  }

  /// One record comes to be taken along by another of the same device; or lets go of it, which is then deleted.
  func bindOrRelease(_ device: SimulatedDevice) throws {
    let parent = RecordKey(zone(0), "o\(device.name.dropFirst(7))-0")
    let child = RecordKey(zone(0), "o\(device.name.dropFirst(7))-2")
    counter += 1
    var change = FieldChanges(values: [device.field: .int64(counter)])
    if intents.owner(of: child) == nil {
      change["owner"] = reference(to: parent, "DELETE_SELF", from: child)
      let makes = Change(parent, .save(type: type(of: parent), FieldChanges(values: [device.field: .int64(counter)])))
      try enqueue([makes, Change(child, .save(type: type(of: child), change))], device)
    } else {
      change["owner"] = random.below(2) == 0 ? nil : reference(to: parent, "NONE", from: child)
      try enqueue([Change(child, .save(type: type(of: child), change)), Change(parent, .delete)], device)
      // However long that takes, the other waits for it.
      guard random.below(2) == 0 else { return }
      for row in try device.store.operations().rows where row.key == child { try perform(.pause, row, device) }
    }
  }

  func enqueue(_ changes: [Change], group: String? = nil, _ device: SimulatedDevice) throws {
    let accepted = try device.store.enqueue(changes, group: group, assets: device.keeping)
    remember(changes, accepted, device)
    note("\(device.name) \(group.map { "\($0): " } ?? "")\(changes.map(\.text)): \(accepted)")
  }

  func remember(_ changes: [Change], _ accepted: [Accepted], _ device: SimulatedDevice) {
    for (change, accepted) in zip(changes, accepted) {
      if case .refused = accepted { continue }
      intents.accept(change, by: device)
    }
  }

  func editGroup(_ device: SimulatedDevice) throws {
    guard scope.database == .private else { return }
    counter += 1
    let zone = anyZone()
    let changes = try (0..<(1 + random.below(3))).map { _ in try change(device, in: zone) }
    try enqueue(changes, group: "group-\(counter)", device)
  }

  func command(_ device: SimulatedDevice) throws {
    let rows = try device.store.operations().rows
    guard let row = rows.isEmpty ? nil : rows[random.below(rows.count)] else { return }
    let verb = QueueVerb.allCases[random.below(QueueVerb.allCases.count)]
    try perform(verb, row, device)
  }

  func perform(_ verb: QueueVerb, _ row: QueueRow, _ device: SimulatedDevice) throws {
    let operation = try device.store.view { try $0.detail(of: row.id) }?.operation
    let isUnconfirmed = operation.map { $0.isUnconfirmed || $0.state == .inFlight } ?? false
    let result = try device.store.perform(verb, on: .ids([row.id]), actor: "operator")
    if verb == .discard, result.changed == [row.id] {
      if row.key.zoneKey == Self.renewed, row.key.name.isEmpty { intents.giveUpAll(in: Self.renewed) }
      intents.giveUp(row.key, by: device)
      // With it goes what was sent: if the server has taken that, it is a stranger's now.
      if isUnconfirmed { intents.lose(row.key, by: device) }
    }
    note("\(device.name) \(verb.rawValue) \(row.id): \(result.changed)")
  }

  /// Somebody has back what was dropped of a change, by an operator or by a policy.
  func undo(_ device: SimulatedDevice) throws {
    let dropped = try device.store.view { try $0.dropped() }.filter {
      !Intents.isOwned($0.key.name) || intents.isGivenUp($0.key)
    }
    guard !dropped.isEmpty else { return }
    let chosen = dropped[random.below(dropped.count)]
    intents.giveUp(chosen.key, by: device)
    census.count("undone")
    do {
      let accepted = try device.store.undo(chosen.operation, actor: "operator")
      note("\(device.name) undoes \(chosen.operation): \(accepted)")
    } catch {
      guard error.kind == .invalid else { throw error }
      note("\(device.name) cannot undo \(chosen.operation): \(error.message)")
    }
  }

  func resolve(_ device: SimulatedDevice) throws {
    let conflicts = try device.store.view { try $0.conflicts().rows }
    for conflict in conflicts {
      try check(conflict.key, conflict.fields.map(\.name), device)
      intents.settle(conflict.key)
      let sides = ConflictSide.allCases.filter { conflict.fileNobodyHas($0, [:]) == nil }
      let side = sides[random.below(sides.count)]
      let (id, version) = (conflict.id, conflict.version)
      let outcome = try device.store.resolve(id, take: side, ifVersion: version, actor: "operator")
      let left = outcome.resolution?.left?.names.sorted() ?? []
      note("\(device.name) resolves \(conflict.key.name) by \(side.rawValue): \(left)")
    }
  }

  /// Some fields nobody else writes: a conflict about them is a change of our own taken for a stranger's.
  func check(_ key: RecordKey, _ fields: [String], _ device: SimulatedDevice) throws {
    let isOwn = Intents.isOwned(key.name) && !intents.isGivenUp(key)
    let isKept = Intents.isKept(key.name) && !intents.isLost(key, by: device)
    guard isOwn || (isKept && fields.contains(device.field)) else { return }
    throw violation("\(device.name): conflict with itself about \(key.name): \(fields)")
  }

  /// Somebody decides about what the server deleted and the device holds back.
  func decide(_ device: SimulatedDevice) throws {
    for held in try device.store.heldDeletions() {
      let zone = held.zone
      if random.below(2) == 0 {
        let count = try device.store.acceptDeletions(in: zone, actor: "operator").records
        census.count("deletions accepted")
        note("\(device.name) lets \(count) records of zone \(zone.zone) go")
      } else {
        // What its owner deleted is there again.
        for name in try device.store.read({ try $0.namesGone(zone) }) where Intents.isOwned(name) {
          intents.giveUp(RecordKey(zone, name), by: nil)
        }
        let count = try device.store.restoreDeletions(in: zone, actor: "operator").records
        census.count("deletions restored")
        note("\(device.name) makes \(count) records of zone \(zone.zone) anew")
      }
    }
  }
}

extension Change {
  var text: String {
    switch kind {
    case .delete: "-\(key.zone)/\(key.name)"
    case .save(_, let fields):
      "\(key.zone)/\(key.name)(\(fields.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }.joined(separator: " ")))"
    }
  }
}
