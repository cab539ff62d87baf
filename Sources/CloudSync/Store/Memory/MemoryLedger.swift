/// The store's rows in memory, each table with what finds its rows.
final class MemoryLedger: Ledger {
  struct Operation {
    var operation: QueuedOperation
    var links: RecordLinks
  }

  struct Record {
    var record: MirrorRecord
    var epoch: Int64
    /// The tags before this one, latest first, each with a space behind it.
    var formerTags = ""
  }

  struct Feed: Hashable {
    var zone: ZoneKey
    var type: String
  }

  struct AssetKey: Hashable {
    var zone: ZoneKey
    var digest: String
  }

  /// The last number given in each table.
  struct Counters {
    var operation: Int64 = 0
    var pass: Int64 = 0
    var history: Int64 = 0
    var event: Int64 = 0
    var command: Int64 = 0
    var dropped: Int64 = 0
    var delivery: Int64 = 0
    /// The last number that was removed, of those that are removed from the oldest on.
    var historyRemoved: Int64 = 0
    var commandsRemoved: Int64 = 0
  }

  var operations = MemoryTable<Int64, Operation>()
  var queue = QueueIndex()
  var records = MemoryTable<RecordKey, Record>()
  var mirror = MirrorIndex()
  var zoneRows = MemoryTable<ZoneKey, KnownZone>()
  var pullRows = MemoryTable<Feed, Pull>()
  var waitRows = MemoryTable<String, ScopeWait>()
  var assetPlaces = MemoryTable<AssetKey, AssetPlace>()
  var values = MemoryTable<String, String>()
  var passes = MemoryTable<Int64, RequestedPass>()
  var attempts = MemoryTable<Int64, [Attempt]>()
  var history = MemoryTable<Int64, HistoryEntry>()
  var historyOfOperation = MemoryTable<Int64, Int64>()
  var events = MemoryTable<Int64, EventRow>()
  var commands = MemoryTable<Int64, AuditedCommand>()
  var droppedRows = MemoryTable<Int64, DroppedChange>()
  var deliveryRows = MemoryTable<RecordKey, Delivery>()

  /// Single rows, whose former values are kept instead of what changed.
  struct Singles {
    var counters = Counters()
    var lease: LeaseHolder?
    var activity = DriverActivity()
  }
  var singles = Singles() { didSet { singlesChanged = true } }
  private var committed = Singles()
  private var singlesChanged = false

  // MARK: - The transaction

  var hasChanges: Bool {
    singlesChanged || operations.hasChanges || records.hasChanges || zoneRows.hasChanges || pullRows.hasChanges
      || waitRows.hasChanges || assetPlaces.hasChanges || values.hasChanges || passes.hasChanges || attempts.hasChanges
      || history.hasChanges
      || historyOfOperation.hasChanges || events.hasChanges || commands.hasChanges || droppedRows.hasChanges
      || deliveryRows.hasChanges
  }

  func commit() {
    operations.commit()
    records.commit()
    zoneRows.commit()
    pullRows.commit()
    waitRows.commit()
    assetPlaces.commit()
    values.commit()
    passes.commit()
    attempts.commit()
    history.commit()
    historyOfOperation.commit()
    events.commit()
    commands.commit()
    droppedRows.commit()
    deliveryRows.commit()
    if singlesChanged { committed = singles }
    singlesChanged = false
  }

  func rollBack() {
    operations.rollBack { id, now, before in queue.move(id, from: now, to: before) }
    records.rollBack { key, now, before in mirror.move(key, from: now?.record, to: before?.record) }
    zoneRows.rollBack()
    pullRows.rollBack()
    waitRows.rollBack()
    assetPlaces.rollBack()
    values.rollBack()
    passes.rollBack()
    attempts.rollBack()
    history.rollBack()
    historyOfOperation.rollBack()
    events.rollBack()
    commands.rollBack()
    droppedRows.rollBack()
    deliveryRows.rollBack()
    if singlesChanged { singles = committed }
    singlesChanged = false
  }

  // MARK: - Single values

  func value(_ key: String) throws -> String? { values[key] }

  func setValue(_ key: String, _ value: String?) throws { values[key] = value }
}
