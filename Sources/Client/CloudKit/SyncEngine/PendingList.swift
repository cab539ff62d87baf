/// A change that waits to be sent. There is one change for each identifier.
protocol PendingChange: Hashable, Sendable {
  associatedtype ID: Hashable & Sendable
  var id: ID { get }
}

/// Pending changes in the order in which their subjects were first added, one for each subject: the latest.
struct PendingList<Change: PendingChange>: Sendable {
  private struct Entry: Sendable {
    var change: Change
    /// The number of the addition.
    var number: Int
  }

  private var order: [Change.ID] = []
  private var entries: [Change.ID: Entry] = [:]
  /// The number of additions until now. It says whether a change was added again while it was being sent.
  private(set) var additions = 0

  init(_ changes: [Change] = []) { add(changes) }

  var isEmpty: Bool { order.isEmpty }
  var changes: [Change] { order.compactMap { entries[$0]?.change } }

  /// Adds changes. A change replaces the one for the same subject and keeps its place.
  mutating func add(_ changes: [Change]) {
    for change in changes {
      additions += 1
      if entries.updateValue(Entry(change: change, number: additions), forKey: change.id) == nil {
        order.append(change.id)
      }
    }
  }

  /// Removes changes, unless another change for the same subject replaced them, or they were added again after
  /// `additions` additions.
  mutating func remove(_ changes: [Change], addedUntil additions: Int = .max) {
    for change in changes {
      guard let entry = entries[change.id], entry.change == change, entry.number <= additions else { continue }
      entries[change.id] = nil
    }
    order.removeAll { entries[$0] == nil }
  }
}
