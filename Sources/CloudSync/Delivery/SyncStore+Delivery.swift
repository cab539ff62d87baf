import CloudKit
import Foundation

/// What an app is told of, and what it did with it.
extension SyncStore {
  /// What goes to the app in one call.
  struct DeliveryBatch: Sendable {
    var numbers: [Int64] = []
    var changes = ReceivedChanges()
  }

  /// Begins to note what changes. Looking whether it has begun writes nothing.
  func startDelivering() throws(StoreError) {
    guard try read({ try $0.value("delivers") }) == nil else { return }
    try write { try $0.startDelivering() }
  }

  /// The oldest that has not been taken, with what it refers to, in the order in which it is to be taken.
  func nextDelivery(types: [String]) throws(StoreError) -> DeliveryBatch {
    try read { ledger in
      var waiting = try ledger.deliveries(limit: 200)
      var chosen = Set(waiting.map(\.key))
      var batch = DeliveryBatch()
      var present: [(order: DeliveryOrder.Item, record: CKRecord)] = []
      var gone: [(order: DeliveryOrder.Item, deletion: ReceivedChanges.Deletion)] = []
      var next = 0
      while next < waiting.count {
        let delivery = waiting[next]
        next += 1
        batch.numbers.append(delivery.number)
        let queued = try ledger.operation(for: delivery.key)
        // The app itself deleted it; it hears of it again when that has ended.
        if queued?.kind == .delete { continue }
        let mirror = try ledger.record(delivery.key)
        guard let type = queued?.type ?? mirror?.type else {
          let references = (delivery.lastFields ?? [:]).references(from: delivery.key)
          gone.append(
            (
              DeliveryOrder.Item(key: delivery.key, type: delivery.type, references: references),
              ReceivedChanges.Deletion(recordID: delivery.key.recordID, recordType: delivery.type)
            )
          )
          continue
        }
        let fields = queued?.changes.applied(to: mirror?.fields ?? [:]) ?? mirror?.fields ?? [:]
        let references = fields.references(from: delivery.key)
        present.append(
          (
            DeliveryOrder.Item(key: delivery.key, type: type, references: references),
            CKRecord(delivery.key, type: type, fields: fields, tag: mirror?.changeTag)
          )
        )
        // What it refers to comes with it, however late that was noted.
        guard waiting.count < Self.largestDelivery else { continue }
        for target in references where !chosen.contains(target) {
          guard let delivery = try ledger.delivery(of: target) else { continue }
          chosen.insert(target)
          waiting.append(delivery)
        }
      }
      let order = DeliveryOrder(types: types)
      batch.changes.modifications = order.sorted(present.map(\.order)).map { present[$0].record }
      batch.changes.deletions = order.sorted(gone.map(\.order)).reversed().map { gone[$0].deletion }
      return batch
    }
  }

  /// More than this do not go in one call, however long the chain of references.
  private static let largestDelivery = 5_000

  func delivered(_ batch: DeliveryBatch) throws(StoreError) {
    try write { ledger in
      try ledger.removeDeliveries(batch.numbers)
      try ledger.setValue("delivery", nil)
    }
  }

  // MARK: - An app that does not take them

  /// Why the app was not done with what it was last given, and when it is asked again.
  struct DeliveryTrouble: Codable, Hashable, Sendable {
    var attempts: Int
    var reason: String
    var at: Int64
    var nextAt: Int64
  }

  func deliveryTrouble() throws(StoreError) -> DeliveryTrouble? {
    try read { try DeliveryTrouble(stored: $0.value("delivery")) }
  }

  func deliveryFailed(_ reason: String, random: Double) throws(StoreError) {
    let now = now()
    try write { ledger in
      let attempts = (DeliveryTrouble(stored: try ledger.value("delivery"))?.attempts ?? 0) + 1
      let wait = Backoff.milliseconds(Backoff.seconds(afterAttempt: attempts, random: random))
      let trouble = DeliveryTrouble(attempts: attempts, reason: reason, at: now, nextAt: now + wait)
      try ledger.setValue("delivery", String(decoding: try JSONEncoder().encode(trouble), as: UTF8.self))
      try EventLog.add("delivery", reason, now: now, ledger)
    }
  }
}

extension SyncStore.DeliveryTrouble {
  init?(stored: String?) {
    guard let stored, let value = try? JSONDecoder().decode(Self.self, from: Data(stored.utf8)) else { return nil }
    self = value
  }
}

extension [String: FieldValue] {
  /// The records that the fields of a record refer to, itself left out.
  func references(from key: RecordKey) -> Set<RecordKey> {
    var targets: Set<RecordKey> = []
    for reference in values.lazy.flatMap(\.references) {
      let zone = reference.zoneID
      let target = RecordKey(
        zone: zone?.zoneName ?? key.zone,
        owner: zone.map { $0.ownerRecordName ?? "" } ?? key.owner,
        name: reference.recordName
      )
      if target != key { targets.insert(target) }
    }
    return targets
  }
}
