import CloudKit
import Facts

/// One change to the store that a decision makes. `Ledger.write` carries it out.
enum StoreWrite: Hashable {
  /// Removes the operation from the queue if it has ended.
  case update(QueuedOperation)
  /// Keeps a part of the operation that is not sent, or what it overwrites on the server.
  case drop(DroppedChange, of: QueuedOperation)
  /// Records a failed attempt of an operation; nil: to send it.
  case attempt(of: Int64, to: String?, WebServicesError, seconds: Double)
  /// Stores the server's record in the mirror, as seen in an epoch.
  case put(MirrorRecord, epoch: Int64)
  /// Removes a record from the mirror.
  case remove(RecordKey)
  /// Marks a record that the server deleted, until the end of the change feed decides about it.
  case mark(RecordKey)
  case setState(ZoneKey, ZoneState)
  /// Applies the deletion of a zone on the server.
  case lose(ZoneKey, ZoneLoss)
}

extension Ledger {
  /// Writes a decision, in its order.
  func write(_ decision: [StoreWrite], now: Int64) throws {
    for write in decision {
      switch write {
      case .update(let operation): try update(operation)
      case .drop(let dropped, let operation):
        if dropped.overwritten == nil {
          let event = Event.dropped(record: dropped.key.name, dropped.cause)
          try EventLog.add(event, of: operation, now: now, self)
        }
        try add(dropped)
      case .attempt(let id, let what, let error, let seconds):
        try Retention.addAttempt(of: id, error, to: what, seconds: seconds, now: now, self)
      case .put(let record, let epoch): try put(record, epoch: epoch)
      case .remove(let key): try removeRecord(key)
      case .mark(let key): try touch(key, epoch: MirrorRecord.gone)
      case .setState(let zone, let state): try setState(zone, state)
      case .lose(let zone, let loss): try loss.write(zone, now: now, self)
      }
    }
  }
}
