/// The rows of a store, within one transaction. Not to be kept beyond it.
///
/// Rows only: what they mean is decided by those who call this, the same over every storage. What follows from other
/// primitives is an extension.
package protocol Ledger: AnyObject {
  // MARK: - Queue

  func operation(_ id: Int64) throws -> QueuedOperation?
  /// Those of these operations that there are, in the same order.
  func operations(_ ids: [Int64]) throws -> [QueuedOperation]
  func operation(for key: RecordKey) throws -> QueuedOperation?
  /// Whether an operation is on its way in the generation that was sent.
  func isInFlight(_ id: Int64, generation: Int64) throws -> Bool
  /// Operations of a zone, those on the zone itself included, oldest first.
  func operations(of zone: ZoneKey) throws -> [QueuedOperation]
  /// Operations on records of a zone that build on what the server held: deletes, and saves on a record with a tag.
  func dependentOperations(of zone: ZoneKey) throws -> [Int64]
  /// Operations in a state, oldest first.
  func operations(in state: OperationState) throws -> [QueuedOperation]
  /// Operations of a zone under one suspicion, oldest first.
  func operations(of zone: ZoneKey, underSuspicion number: Int64) throws -> [QueuedOperation]
  func keys(inGroup group: String) throws -> [RecordKey]
  /// Adds an operation with what it links to, and gives it the next identifier: none is ever given twice.
  func insert(_ operation: QueuedOperation, _ links: RecordLinks) throws -> Int64
  /// Writes an operation back, except what never changes: its key, its `enqueuedAt` and its `maxAttempts`.
  func replace(_ operation: QueuedOperation, _ links: RecordLinks) throws
  /// Removes operations, the oldest first. Many at once cost far less than each by itself.
  func removeOperations(_ ids: [Int64]) throws
  /// Marks pending or waiting operations as being on their way as they are now.
  func markInFlight(_ ids: [Int64], reason: String) throws
  /// Makes the members of one atomic group members of another.
  func join(_ old: String, to group: String) throws
  /// The queued deletions of zones.
  func zoneDeletions() throws -> [ZoneKey: Int64]
  /// Makes everything in flight pending and unanswered; records are to be read back, and of saves what was sent is kept.
  /// Returns how many there were.
  func recoverInFlight(reason: String, zoneReason: String) throws -> Int
  /// Makes pending what waits by its own back-off, or by a server's wait that is over; returns how many there were.
  func endBackOffs(now: Int64, reason: String) throws -> Int
  func operationCount(in state: OperationState) throws -> Int
  /// Failed saves, but for unreadable ones, of which the app has not been offered the present generation: oldest first.
  func deadLettersToOffer(limit: Int) throws -> [QueuedOperation]

  // MARK: - Choosing what to send

  func candidates(_ query: CandidateQuery) throws -> [Workload.Candidate]
  /// Zones with operations that are neither zone operations nor to be read back first, the one served longest ago first.
  func zonesToServe(now: Int64, savesAreHeld: Bool) throws -> [ZoneKey]
  /// Zones that are not known to be on the server and that sendable changes wait for.
  func zonesToMake(now: Int64) throws -> [ZoneKey]
  /// The operations that one waits for, oldest first: a save for the creation of what it refers to, a delete for the
  /// deletes of what referred to it, and for the saves that let go of it.
  func blockers(of id: Int64) throws -> [Int64]
  func groupSize(_ group: String) throws -> Int
  /// When the earliest back-off ends, of those that end after a time.
  func nextBackOffEnd(after time: Int64) throws -> Int64?

  // MARK: - Mirror

  func record(_ key: RecordKey) throws -> MirrorRecord?
  /// The change tag alone, which tells whether anything changed without decoding the record.
  func changeTag(_ key: RecordKey) throws -> String?
  /// Which version of a record the mirror has.
  func version(_ key: RecordKey) throws -> MirrorVersion?
  /// Keeps a record as the server has it, as seen by the reading of `epoch`, and some of the tags that it had before.
  func put(_ record: MirrorRecord, epoch: Int64) throws
  /// Marks a record as seen by the reading of `epoch`.
  func touch(_ key: RecordKey, epoch: Int64) throws
  func removeRecord(_ key: RecordKey) throws
  func removeRecords(of zone: ZoneKey) throws
  /// Names in a zone that the reading of `epoch` did not see.
  func namesNotSeen(_ zone: ZoneKey, epoch: Int64) throws -> [String]
  /// Names in a zone whose records are marked as gone, by an epoch below zero: so many of them, in order.
  func namesGone(_ zone: ZoneKey, limit: Int) throws -> [String]
  func goneCount(_ zone: ZoneKey) throws -> Int
  /// Whether the record is there, and marked as gone.
  func isGone(_ key: RecordKey) throws -> Bool
  /// Marks all records of a zone as seen by the reading of `epoch`.
  func touchRecords(of zone: ZoneKey, epoch: Int64) throws
  /// The change tags of all records of a type that the mirror has of a zone.
  func changeTags(_ zone: ZoneKey, type: String) throws -> [RecordKey: String]
  func recordCount(of zone: ZoneKey) throws -> Int
  /// Types of the records that the mirror has of a zone.
  func recordTypes(in zone: ZoneKey) throws -> [String]
  /// Types of the records that operations of a zone are about.
  func queuedTypes(in zone: ZoneKey) throws -> [String]
  /// Whether there is no record, no operation and no pull.
  func isBlank() throws -> Bool

  // MARK: - Assets

  /// A field of a zone's record that was given these bytes.
  func assetPlace(_ digest: String, in zone: ZoneKey) throws -> AssetPlace?
  func put(_ place: AssetPlace, of digest: String, in zone: ZoneKey) throws
  func removeAssetPlace(_ digest: String, in zone: ZoneKey) throws
  /// The hashes of the bytes that operations are to send, or what was dropped of them where it can be undone.
  func assetDigests() throws -> Set<String>

  // MARK: - Zones, pulls, waits

  func zone(_ key: ZoneKey) throws -> KnownZone?
  func zones() throws -> [KnownZone]
  func put(_ zone: KnownZone) throws
  func removeZone(_ key: ZoneKey) throws
  func pulls() throws -> [Pull]
  func put(_ pull: Pull) throws
  func wait(_ scope: WaitScope) throws -> ScopeWait?
  /// Waits that end after a time, by the name of their scope.
  func waits(after time: Int64) throws -> [ScopeWait]
  func put(_ wait: ScopeWait) throws
  func removeWait(_ scope: WaitScope) throws

  // MARK: - Single values, driving

  func value(_ key: String) throws -> String?
  /// Keeps a value by its name; nil forgets it.
  func setValue(_ key: String, _ value: String?) throws
  func lease() throws -> LeaseHolder?
  func put(_ lease: LeaseHolder) throws
  /// Sets the end of the lease if its fencing number is still this one; whether it is.
  func extendLease(fence: Int64, until end: Int64?) throws -> Bool
  func activity() throws -> DriverActivity
  func put(_ activity: DriverActivity) throws
  func insertPass(requestedAt: Int64, types: [String]) throws -> Int64
  func pass(_ id: Int64) throws -> RequestedPass?
  func openPasses() throws -> [RequestedPass]
  func replace(_ pass: RequestedPass) throws
  func removePasses(finishedBefore time: Int64) throws

  // MARK: - What happened

  func add(_ attempt: Attempt, of operation: Int64) throws
  /// Newest first.
  func attempts(of operation: Int64) throws -> [Attempt]
  func removeAttempts(of operation: Int64, through number: Int) throws
  func lastAttemptNumber(of operation: Int64) throws -> Int
  func add(_ entry: HistoryEntry) throws
  func history(of operation: Int64) throws -> HistoryEntry?
  /// Newest first.
  func history(limit: Int) throws -> [HistoryEntry]
  /// Whether a deletion of the record has been acknowledged since a time.
  func wasDeleted(_ key: RecordKey, since time: Int64) throws -> Bool
  /// Whether a deletion of the zone has been acknowledged since a time.
  func wasDeleted(_ zone: ZoneKey, since time: Int64) throws -> Bool
  /// Removes what ended before a time, or longer ago than so many others, with its attempts: from the oldest on, up to the
  /// first that stays, and no more than `limit`. Returns how many that were.
  func removeHistory(endedBefore time: Int64, keeping count: Int, limit: Int) throws -> Int
  /// Adds a line to the event log and returns its number.
  func addEvent(_ kind: String, _ message: String, at time: Int64) throws -> Int64
  func removeEvents(through id: Int64) throws
  /// Newest first.
  func events(limit: Int) throws -> [EventRow]
  func add(_ command: AuditedCommand) throws
  /// Newest first.
  func commands(limit: Int) throws -> [AuditedCommand]
  /// Removes commands as `removeHistory` removes endings.
  func removeCommands(before time: Int64, keeping count: Int, limit: Int) throws -> Int
  func add(_ dropped: DroppedChange) throws
  /// What was dropped of an operation, oldest first.
  func dropped(of operation: Int64) throws -> [DroppedChange]
  /// What was dropped and can be undone, newest first.
  func openDropped(limit: Int) throws -> [DroppedChange]
  /// Nothing that was dropped of the record so far can be undone any more.
  func closeDropped(of key: RecordKey) throws
  /// Removes what was dropped before a time; it cannot be undone any more.
  func removeDropped(before time: Int64) throws

  // MARK: - Delivery

  /// Begins to note what an app has to be told of: now everything that the mirror has, from then on each record that
  /// changed in the mirror or whose operation ended. Nothing where it has begun already.
  func startDelivering() throws
  /// What is noted of records that are there, in the mirror or by a queued save, or of those that are gone: oldest first, of
  /// a record that is noted again the last only.
  func deliveries(isGone: Bool, limit: Int) throws -> [Delivery]
  func delivery(of key: RecordKey) throws -> Delivery?
  /// Forgets what has been taken. What was noted again since has another number.
  func removeDeliveries(_ numbers: [Int64]) throws
  func deliveryCount() throws -> Int
  /// Notes that a zone is gone, as a delivery without a record's name. Nothing where no app is to be told.
  func noteGone(_ zone: ZoneKey) throws

  // MARK: - Lists and counts

  func operations(matching query: QueueQuery, offset: Int, limit: Int?) throws -> Window<QueueRow>
  /// Identifiers of the operations that a filter means, oldest first; nil means all.
  func operationIDs(matching filter: QueueFilter?, now: Int64) throws -> [Int64]
  func queueTotals() throws -> [OperationState: QueueTotals]
  /// The queue by state, zone and type, in this order; only what there is.
  func queueParts() throws -> [QueuePart]
  func records(matching query: RecordQuery, offset: Int, limit: Int?) throws -> Window<RecordRow>
  /// The next records by zone, owner and name. What comes and goes between two calls moves none of the others.
  func records(after key: RecordKey?, of zone: ZoneKey?, type: String?, mirrorOnly: Bool, limit: Int) throws
    -> [RecordRow]
  /// Records of this name in whatever zone.
  func records(named name: String, mirrorOnly: Bool) throws -> [RecordRow]
  /// How many records there are by zone and type, with pending edits laid over the mirror.
  func recordTotals() throws -> [RecordTotal]
  /// The wire types of the fields of a record type: as the mirror knows them, else as the queue does. What was refused says
  /// nothing.
  func fieldTypes(of type: String) throws -> [String: String]
}
