package import CloudKit

/// The changes that pushes announced and that are not fetched yet, each record once.
package struct PushedChanges: Sendable {
  /// A change of a record.
  package enum Change: Sendable { case inserted, updated, deleted }

  private var records: [CKRecord.ID: Change] = [:]
  /// The records in the order of their first push.
  private var order: [CKRecord.ID] = []
  /// Whether there may be changes of unknown records: a push did not name its record, or was lost.
  package var hasUnnamed = false

  package init() {}

  package var isEmpty: Bool { records.isEmpty && !hasUnnamed }

  /// Adds what a push announced, if it is of this subscription. A pruned push may be of any.
  package mutating func add(_ push: CKNotification, of subscriptionID: CKSubscription.ID) {
    guard [subscriptionID, nil].contains(push.subscriptionID) else { return }
    guard let push = push as? CKQueryNotification, let id = push.recordID, push.subscriptionID != nil else {
      hasUnnamed = true
      return
    }
    let known = records[id]
    if known == nil { order.append(id) }
    records[id] =
      switch (known, push.queryNotificationReason) {
      case (_, .recordDeleted): .deleted
      case (_, .recordCreated), (.inserted, .recordUpdated): .inserted
      case (_, .recordUpdated): .updated
      }
  }

  /// Removes the first changes and returns them.
  package mutating func take(_ count: Int) -> [(id: CKRecord.ID, change: Change)] {
    let ids = order.prefix(count)
    order.removeFirst(ids.count)
    return ids.compactMap { id in records.removeValue(forKey: id).map { (id, $0) } }
  }
}
