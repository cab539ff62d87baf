import CloudKit
import CloudKitEmulator
import Foundation

@testable import CloudSync

/// What devices do, and what operators do on them.
extension SimulatedWorld {
  func zone(_ index: Int) -> ZoneKey {
    scope.database == .public ? .defaultZone : [ZoneKey(zone: "A"), ZoneKey(zone: "B"), Self.fleeting][index]
  }

  private func kept(_ index: Int) -> RecordKey { RecordKey(zone(index % 2), "k\(index)") }
  private func loose() -> RecordKey { RecordKey(zone(random.below(3)), "x\(random.below(4))") }

  private func owned(_ device: SimulatedDevice) -> RecordKey {
    let index = random.below(3)
    return RecordKey(zone(index % 2), "o\(device.name.dropFirst(7))-\(index)")
  }

  /// Of records that begin with `k`, which are never deleted, every device writes a field of its own, besides the one
  /// that all of them fight for; those with `o` are one device's alone, those with `x` anybody's.
  func change(_ device: SimulatedDevice, in only: ZoneKey? = nil) throws -> Change {
    var key = [kept(random.below(swarm.records)), loose(), owned(device)][random.below(3)]
    if let only, key.zoneKey != only { key = RecordKey(only, "x\(random.below(4))") }
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
    guard swarm.hasAssets, random.below(3) == 0 else { return Change(key, .save(type: "Note", changes)) }
    // Few files, so that some are on the server already, in this record or another.
    let size = 10 + random.below(3)
    let file = Intents.isKept(key.name) ? "file_\(device.field)" : "file"
    changes[file] = .asset(WireAsset(size: Int64(size)))
    let sources = [file: [AssetSource(file: try folder.file(of: size))]]
    return Change(key, .save(type: "Note", changes), assets: sources)
  }

  private func reference(to target: RecordKey, _ action: String, from key: RecordKey) -> FieldValue {
    let zone = target.zoneKey == key.zoneKey ? nil : target.zoneKey.wire
    return .reference(WireReference(recordName: target.name, zoneID: zone, action: action))
  }

  func deletion(_ device: SimulatedDevice) -> Change {
    Change(random.below(2) == 0 ? loose() : owned(device), .delete)
  }

  /// One record comes to be taken along by another of the same device; or lets go of it, which is then deleted.
  func bindOrRelease(_ device: SimulatedDevice) throws {
    let parent = RecordKey(zone(0), "o\(device.name.dropFirst(7))-0")
    let child = RecordKey(zone(0), "o\(device.name.dropFirst(7))-2")
    counter += 1
    var change = FieldChanges(values: [device.field: .int64(counter)])
    if intents.owner(of: child) == nil {
      change["owner"] = reference(to: parent, "DELETE_SELF", from: child)
      let makes = Change(parent, .save(type: "Note", FieldChanges(values: [device.field: .int64(counter)])))
      try enqueue([makes, Change(child, .save(type: "Note", change))], device)
    } else {
      change["owner"] = random.below(2) == 0 ? nil : reference(to: parent, "NONE", from: child)
      try enqueue([Change(child, .save(type: "Note", change)), Change(parent, .delete)], device)
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
    let zone = zone(random.below(3))
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
    let operation = try device.store.detail(of: row.id)?.operation
    let isUnanswered = operation.map { $0.isUnanswered || $0.state == .inFlight } ?? false
    let result = try device.store.perform(verb, on: .ids([row.id]), actor: "operator")
    if verb == .discard, result.changed == [row.id] {
      intents.giveUp(row.key, by: device)
      // With it goes what was sent: if the server has taken that, it is a stranger's now.
      if isUnanswered { intents.lose(row.key, by: device) }
    }
    note("\(device.name) \(verb.rawValue) \(row.id): \(result.changed)")
  }

  func resolve(_ device: SimulatedDevice) throws {
    for conflict in try device.store.conflicts() {
      try check(conflict.key, conflict.fields.map(\.name), device)
      let side = ConflictSide.allCases[random.below(ConflictSide.allCases.count)]
      let left = try device.store.resolve(conflict.id, take: side, actor: "operator")
      note("\(device.name) resolves \(conflict.key.name) by \(side.rawValue): \(left?.names.sorted() ?? [])")
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
        let count = try device.store.acceptDeletions(in: zone, policy: device.merging, actor: "operator")
        census.count("deletions accepted")
        note("\(device.name) lets \(count) records of zone \(zone.zone) go")
      } else {
        // What its owner deleted is there again.
        for name in try device.store.read({ try $0.namesGone(zone) }) where Intents.isOwned(name) {
          intents.giveUp(RecordKey(zone, name), by: nil)
        }
        let count = try device.store.restoreDeletions(in: zone, actor: "operator")
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
