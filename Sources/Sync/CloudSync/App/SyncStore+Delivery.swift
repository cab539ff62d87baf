import CloudKit
import Facts
import Foundation

/// Delivering changes to the app.
extension SyncStore {
  /// The changes delivered to the app in one call.
  struct DeliveryBatch: Sendable {
    var numbers: [Int64] = []
    var changes = ReceivedChanges()
    /// Deliveries that refer to a record that is set aside.
    var blocked: [Int64] = []
  }

  /// Starts recording deliveries. Writes nothing if it has started already and was called within a day.
  func startDelivering() throws(StoreError) {
    let now = now()
    guard try !read({ try $0.isDelivering(now: now) }) else { return }
    try write { try $0.startDelivering(now: now) }
  }

  /// Returns the next deliveries: the oldest existing records with those they refer to, and when none are left, the
  /// deletions.
  ///
  /// - Parameters:
  ///   - order: the order of record types.
  ///   - selected: only records of these types, with those they refer to; nil: everything.
  func nextDelivery(order types: [String], of selected: Set<String>? = nil) throws(StoreError) -> DeliveryBatch {
    let order = DeliveryOrder(types: types)
    let now = now()
    return try read { ledger in
      let trouble = try Self.trouble(now, ledger) ?? DeliveryTrouble()
      // In the middle of a fetch, referenced records may not have arrived yet.
      let isReading = try hasEngine(ledger) && ledger.isTrue(.isFetching)
      var (batch, isWaiting) = try modifications(order, trouble, isReading: isReading, selected, ledger)
      if batch.numbers.isEmpty, batch.blocked.isEmpty, !isWaiting {
        batch = try deletions(order, trouble, selected, ledger)
      }
      batch.changes.startsOver = try ledger.hasLapsedDeliveries()
      return batch
    }
  }

  /// The oldest deliveries that are not set aside.
  private func deliveries(
    isGone: Bool,
    _ limit: Int,
    _ trouble: DeliveryTrouble,
    _ selected: Set<String>?,
    _ ledger: Ledger
  ) throws -> [Delivery] {
    let aside = trouble.setAside
    let noted = try ledger.deliveries(isGone: isGone, of: selected, limit: limit + aside.count)
    return Array(noted.lazy.filter { !aside.contains($0.number) }.prefix(limit))
  }

  /// - Returns: the batch, and whether others wait for referenced records to arrive.
  private func modifications(
    _ order: DeliveryOrder,
    _ trouble: DeliveryTrouble,
    isReading: Bool,
    _ selected: Set<String>?,
    _ ledger: Ledger
  ) throws -> (batch: DeliveryBatch, isWaiting: Bool) {
    var noted = try deliveries(isGone: false, trouble.limit, trouble, selected, ledger)
    var included = Set(noted.map(\.key))
    var batch = DeliveryBatch()
    var present: [(number: Int64, order: DeliveryOrder.Item, record: CKRecord)] = []
    var incomplete: Set<RecordKey> = []
    var blocked: Set<RecordKey> = []
    var next = 0
    while next < noted.count {
      let delivery = noted[next]
      next += 1
      let local = try ledger.local(delivery.key)
      guard let record = local.record else {
        // It is deleted here, by itself or with its zone; it is delivered again when the delete has ended. Other
        // deletions come later, even of records that others still refer to.
        if local.mirror != nil { batch.numbers.append(delivery.number) }
        continue
      }
      let references = record.fields.references(from: delivery.key)
      present.append(
        (
          delivery.number,
          DeliveryOrder.Item(key: delivery.key, type: record.type, references: references),
          CKRecord(record)
        )
      )
      if isReading, try references.contains(where: { try !ledger.isThere($0) }) { incomplete.insert(delivery.key) }
      // Include referenced records, even if they changed later.
      for target in references where !included.contains(target) {
        guard noted.count < Self.largestDelivery, let other = try ledger.delivery(of: target) else { continue }
        if trouble.setAside.contains(other.number) {
          blocked.insert(delivery.key)
        } else {
          included.insert(target)
          noted.append(other)
        }
      }
    }
    blocked = Self.dependants(on: blocked, among: present.map(\.order))
    incomplete = Self.dependants(on: incomplete, among: present.map(\.order)).subtracting(blocked)
    batch.blocked = present.filter { blocked.contains($0.order.key) }.map(\.number)
    present.removeAll { blocked.contains($0.order.key) || incomplete.contains($0.order.key) }
    // When trying a single record, the records it refers to come first.
    let taken = order.sorted(present.map(\.order)).prefix(trouble.limit == 1 ? 1 : .max).map { present[$0] }
    batch.numbers += taken.map(\.number)
    batch.changes.modifications = taken.map(\.record)
    return (batch, !incomplete.isEmpty)
  }

  /// These records and all that refer to them, directly or indirectly.
  private static func dependants(on keys: Set<RecordKey>, among items: [DeliveryOrder.Item]) -> Set<RecordKey> {
    var found = keys
    var isGrowing = !keys.isEmpty
    while isGrowing {
      let count = found.count
      for item in items where !item.references.isDisjoint(with: found) { found.insert(item.key) }
      isGrowing = found.count > count
    }
    return found
  }

  private func deletions(
    _ order: DeliveryOrder,
    _ trouble: DeliveryTrouble,
    _ selected: Set<String>?,
    _ ledger: Ledger
  ) throws -> DeliveryBatch {
    var batch = DeliveryBatch()
    var gone: [(number: Int64, order: DeliveryOrder.Item)] = []
    var zones: [(number: Int64, zoneID: CKRecordZone.ID)] = []
    for delivery in try deliveries(isGone: true, Self.largestDelivery, trouble, selected, ledger) {
      if delivery.key.name.isEmpty {
        // The zone may have been recreated since.
        let state = try ledger.zone(delivery.key.zoneKey)?.state
        let isGone = state == nil || state == .deleted
        if isGone {
          zones.append((delivery.number, delivery.key.recordID.zoneID))
        } else {
          batch.numbers.append(delivery.number)
        }
      } else if try ledger.operation(for: delivery.key)?.kind == .delete {
        batch.numbers.append(delivery.number)
      } else {
        let references = (delivery.lastFields ?? [:]).references(from: delivery.key)
        gone.append(
          (delivery.number, DeliveryOrder.Item(key: delivery.key, type: delivery.type, references: references))
        )
      }
    }
    // After a rejection deliver only the first ones, in order; zones come last.
    let limit = trouble.attempts > 1 ? trouble.limit : Self.largestDelivery
    let first = order.sorted(gone.map(\.order)).reversed().prefix(limit).map { gone[$0] }
    batch.changes.deletions = first.map {
      ReceivedChanges.Deletion(recordID: $0.order.key.recordID, recordType: $0.order.type)
    }
    let last = first.count == gone.count ? zones.prefix(limit - first.count) : []
    batch.changes.deletedZones = last.map(\.zoneID)
    batch.numbers += first.map(\.number) + last.map(\.number)
    return batch
  }

  /// The maximum number of changes in one call, however long the chain of references.
  private static let largestDelivery = 5_000

  func delivered(_ batch: DeliveryBatch) throws(StoreError) {
    let now = now()
    try write { ledger in
      try ledger.removeDeliveries(batch.numbers)
      if batch.changes.startsOver { try ledger.endLapse() }
      try Self.changeTrouble(now, ledger) { $0.take() }
    }
  }

  /// Called when nothing more can be delivered: clears the trouble, unless records are set aside.
  func deliveryEnded() throws(StoreError) {
    guard let trouble = try deliveryTrouble(), !trouble.isAside else { return }
    try write { try $0.setValue(.deliveryTrouble, nil) }
  }

  // MARK: - Rejected deliveries

  /// The rejection of the latest deliveries, with the time of the next try.
  func deliveryTrouble() throws(StoreError) -> DeliveryTrouble? {
    try read { try DeliveryTrouble(stored: $0.value(.deliveryTrouble)) }
  }

  /// Records that the app rejected a batch.
  ///
  /// - Returns: whether another one may be tried at once.
  func deliveryFailed(_ batch: DeliveryBatch, _ reason: String, random: Double) throws(StoreError) -> Bool {
    let now = now()
    return try write { ledger in
      var trouble = try Self.trouble(now, ledger) ?? DeliveryTrouble()
      if trouble.reason != reason { try EventLog.add(.deliveryFailed(reason), now: now, ledger) }
      let goesOn = trouble.refuse(batch.numbers, reason, now: now, random: random)
      try ledger.setValue(.deliveryTrouble, trouble.stored)
      return goesOn
    }
  }

  /// Sets aside deliveries that refer to one that is.
  ///
  /// - Returns: whether there was room.
  func setAside(_ numbers: [Int64], random: Double) throws(StoreError) -> Bool {
    let now = now()
    guard try deliveryTrouble()?.hasRoom ?? true else { return false }
    try write { ledger in
      try Self.changeTrouble(now, ledger) { $0.put(aside: numbers, now: now, random: random) }
    }
    return true
  }

  /// The current trouble.
  private static func trouble(_ now: Int64, _ ledger: Ledger) throws -> DeliveryTrouble? {
    DeliveryTrouble(stored: try ledger.value(.deliveryTrouble))?.seen(at: now)
  }

  private static func changeTrouble(_ now: Int64, _ ledger: Ledger, _ body: (inout DeliveryTrouble) -> Void) throws {
    guard var trouble = try trouble(now, ledger) else { return }
    body(&trouble)
    try ledger.setValue(.deliveryTrouble, trouble.stored)
  }
}

extension DeliveryTrouble {
  init?(stored: String?) {
    guard let stored, let value = try? JSONDecoder().decode(Self.self, from: Data(stored.utf8)) else { return nil }
    self = value
  }

  fileprivate var stored: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }
}

extension Ledger {
  /// Whether a record exists in the mirror or in a queued save.
  fileprivate func isThere(_ key: RecordKey) throws -> Bool {
    if try changeTag(key) != nil { return true }
    return try operation(for: key)?.kind == .save
  }
}
