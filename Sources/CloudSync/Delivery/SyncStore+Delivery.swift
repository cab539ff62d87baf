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

  /// What has not been taken, in the order in which it is to be taken: the oldest of what is there, with what it refers to,
  /// and once nothing of that is left what is gone.
  ///
  /// - Parameter limit: how many of the oldest; what they refer to comes besides.
  func nextDelivery(types: [String], limit: Int = 200) throws(StoreError) -> DeliveryBatch {
    let order = DeliveryOrder(types: types)
    let isDriven = storage.isDriven
    return try read { ledger in
      // In the middle of a reading what something refers to may not have come yet.
      let isReading = try isDriven && ledger.activity().state == Activity.fetching.rawValue
      let (batch, isWaiting) = try Self.modifications(order, limit, isReading: isReading, ledger)
      return batch.numbers.isEmpty && !isWaiting ? try Self.deletions(order, ledger) : batch
    }
  }

  /// - Returns: what is to be taken now, and whether there is more of which something has to come first.
  private static func modifications(_ order: DeliveryOrder, _ limit: Int, isReading: Bool, _ ledger: any Ledger) throws
    -> (batch: DeliveryBatch, isWaiting: Bool)
  {
    var noted = try ledger.deliveries(isGone: false, limit: limit)
    var chosen = Set(noted.map(\.key))
    var batch = DeliveryBatch()
    var present: [(number: Int64, order: DeliveryOrder.Item, record: CKRecord)] = []
    var incomplete: Set<RecordKey> = []
    var next = 0
    while next < noted.count {
      let delivery = noted[next]
      next += 1
      let queued = try ledger.operation(for: delivery.key)
      let mirror = try ledger.record(delivery.key)
      // What is gone comes later, also where others refer to it still.
      guard let type = queued?.type ?? mirror?.type, mirror != nil || queued?.kind == .save else { continue }
      // The app itself deleted it; it hears of it again when that has ended.
      if queued?.kind == .delete {
        batch.numbers.append(delivery.number)
        continue
      }
      let fields = queued?.changes.applied(to: mirror?.fields ?? [:]) ?? mirror?.fields ?? [:]
      let references = fields.references(from: delivery.key)
      present.append(
        (
          delivery.number,
          DeliveryOrder.Item(key: delivery.key, type: type, references: references),
          CKRecord(delivery.key, type: type, fields: fields, tag: mirror?.changeTag)
        )
      )
      if isReading, try references.contains(where: { try !ledger.isThere($0) }) { incomplete.insert(delivery.key) }
      // What it refers to comes with it, however late that was noted.
      guard noted.count < largestDelivery else { continue }
      for target in references where !chosen.contains(target) {
        guard let delivery = try ledger.delivery(of: target) else { continue }
        chosen.insert(target)
        noted.append(delivery)
      }
    }
    // What refers to something that waits, waits as well.
    var waiting: Set<RecordKey> = []
    while !incomplete.isSubset(of: waiting) {
      waiting.formUnion(incomplete)
      incomplete = Set(present.map(\.order).filter { !$0.references.isDisjoint(with: waiting) }.map(\.key))
    }
    present.removeAll { waiting.contains($0.order.key) }
    batch.numbers += present.map(\.number)
    batch.changes.modifications = order.sorted(present.map(\.order)).map { present[$0].record }
    return (batch, !waiting.isEmpty)
  }

  private static func deletions(_ order: DeliveryOrder, _ ledger: any Ledger) throws -> DeliveryBatch {
    var batch = DeliveryBatch()
    var gone: [(order: DeliveryOrder.Item, deletion: ReceivedChanges.Deletion)] = []
    for delivery in try ledger.deliveries(isGone: true, limit: largestDelivery) {
      batch.numbers.append(delivery.number)
      if delivery.key.name.isEmpty {
        // One that was made anew since is there.
        let state = try ledger.zone(delivery.key.zoneKey)?.state
        if state == nil || state == .deleted { batch.changes.deletedZones.append(delivery.key.recordID.zoneID) }
        continue
      }
      if try ledger.operation(for: delivery.key)?.kind == .delete { continue }
      let references = (delivery.lastFields ?? [:]).references(from: delivery.key)
      gone.append(
        (
          DeliveryOrder.Item(key: delivery.key, type: delivery.type, references: references),
          ReceivedChanges.Deletion(recordID: delivery.key.recordID, recordType: delivery.type)
        )
      )
    }
    batch.changes.deletions = order.sorted(gone.map(\.order)).reversed().map { gone[$0].deletion }
    return batch
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

    /// How many records are tried next: all once more, then ever fewer, to find the one that the app does not take.
    var limit: Int { max(1, 200 >> (2 * min(max(attempts - 1, 0), 4))) }
  }

  func deliveryTrouble() throws(StoreError) -> DeliveryTrouble? {
    try read { try DeliveryTrouble(stored: $0.value("delivery")) }
  }

  /// Notes that the app did not take a batch. One record alone has to be what it is about: it comes last from now on, so that
  /// the others need not wait for it.
  func deliveryFailed(_ batch: DeliveryBatch, _ reason: String, random: Double) throws(StoreError) {
    let now = now()
    try write { ledger in
      let known = DeliveryTrouble(stored: try ledger.value("delivery"))
      let attempts = (known?.attempts ?? 0) + 1
      if known?.limit == 1, batch.changes.deletions.isEmpty { try ledger.postponeDeliveries(batch.numbers) }
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

extension Ledger {
  /// Whether a record is known here, on the server or by a queued save.
  fileprivate func isThere(_ key: RecordKey) throws -> Bool {
    if try changeTag(key) != nil { return true }
    return try operation(for: key)?.kind == .save
  }
}

extension [String: FieldValue] {
  /// The records that the fields of a record refer to, itself left out.
  func references(from key: RecordKey) -> Set<RecordKey> {
    Set(values.flatMap { $0.targets(in: key.zoneKey) }).subtracting([key])
  }
}
