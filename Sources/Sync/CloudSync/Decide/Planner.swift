import CloudKit

/// Decides what is sent next. It does no work and knows no clock.
package struct Planner: Hashable, Sendable {
  /// The number of operations the server accepts in one request.
  package static let requestLimit = CKDatabase.largestBatch
  /// The number of operations per request: lowered after the server rejected one as too large.
  package var operationLimit = requestLimit
  /// The number of bytes per request.
  package static let byteLimit = CKDatabase.largestBody
  /// The number of references per request: as many as may point to one record (reference 4).
  package static let referenceLimit = 750
  /// The number of assets per request: those for which one request returns upload addresses (reference 4).
  package static let assetLimit = CKDatabase.largestBatch

  package init(operationLimit: Int = requestLimit) {
    self.operationLimit = max(1, min(Self.requestLimit, operationLimit))
  }

  /// Every this many requests, operations in reference cycles come before unblocked ones, and half-way in between
  /// assets are uploaded first.
  private static let cycleTurns: Int64 = 32

  /// The maximum number of notes that one transaction updates.
  static let notesAtOnce = 250

  /// Returns the next step for this workload.
  package func plan(_ workload: some Workload) throws -> Step {
    let scope = workload.scope
    if scope.isPaused { return .held(until: nil) }
    if let end = scope.stopsUntil { return .held(until: end) }
    if let operation = scope.zoneOperations.first(where: scope.isReady) {
      return operation.needsCheck ? .verifyZone(operation.id) : .sendZoneOperation(operation.id)
    }
    let missing = try workload.missingZones.prefix(Self.requestLimit)
    if !missing.isEmpty { return .makeZones(Array(missing)) }
    if let step = verify(try workload.toVerify.filter(scope.isReady)) { return step }
    let turn = workload.turn % Self.cycleTurns
    let (uploadsGoFirst, cyclesGoFirst) = (turn == Self.cycleTurns / 2, turn == Self.cycleTurns - 1)
    if uploadsGoFirst, let step = try upload(workload) { return step }
    var toNote: [Int64] = []
    if cyclesGoFirst, let step = try cycle(workload, toNote: &toNote) { return step }
    for zone in try workload.zones {
      guard let found = try workload.candidates(of: zone, toNote: &toNote) else { return note(toNote) }
      let candidates = found.filter(scope.isReady)
      if let step = batch(of: zone, candidates, try workload.groupSizes(of: candidates)) { return step }
    }
    if !cyclesGoFirst, let step = try cycle(workload, toNote: &toNote) { return step }
    // After sending: once a record with the same bytes is saved, others need no upload of their own.
    if !uploadsGoFirst, let step = try upload(workload) { return step }
    if try !toNote.isEmpty || workload.hasOldNotes { return note(toNote) }
    return .rest(until: (scope.waits.values.map(\.until) + [try workload.nextBackOffEnd].compactMap { $0 }).min())
  }

  private func note(_ ids: [Int64]) -> Step { .noteBlockers(Array(ids.prefix(Self.notesAtOnce))) }

  /// The first reference cycle that can be sent, in a request of its own.
  ///
  /// - Parameter toNote: gets the operations that no longer close one.
  private func cycle(_ workload: some Workload, toNote: inout [Int64]) throws -> Step? {
    for closer in try workload.closers {
      let cycle = try workload.cycle(closedBy: closer)
      if !cycle.isClosed { toNote.append(closer) } else if let step = cycle.step(in: workload.scope) { return step }
    }
    return nil
  }

  private func upload(_ workload: some Workload) throws -> Step? {
    let uploads = try workload.uploads.filter(workload.scope.needsFiles)
    guard let first = uploads.first else { return nil }
    return .supplyAssets(first.zone, uploads.filter { $0.zone == first.zone }.prefix(Self.requestLimit).map(\.id))
  }

  private var room: Room { Room(operations: operationLimit) }

  /// Records of one zone to re-fetch. If a request with them was rejected as a whole, half of them.
  private func verify(_ toVerify: [Candidate]) -> Step? {
    guard let first = toVerify.first else { return nil }
    let refused = { (candidate: Candidate) in candidate.bisection.flatMap { $0 < 0 ? $0 : nil } }
    let alike = toVerify.filter { $0.zone == first.zone && refused($0) == refused(first) }
    let limit = refused(first) == nil ? operationLimit : min(operationLimit, (alike.count + 1) / 2)
    return .verify(first.zone, alike.prefix(limit).map(\.id))
  }

  /// One request for a zone: single operations or one whole atomic group.
  private func batch(of zone: ZoneKey, _ candidates: [Candidate], _ groupSizes: [String: Int]) -> Step? {
    if let half = halfOfBisection(candidates) { return .send(zone, half, atomic: false) }
    var tried: Set<String> = []
    let groups = Dictionary(grouping: candidates.lazy.filter { $0.group != nil }) { $0.group }
    for candidate in candidates where !candidate.isBisected {
      guard let group = candidate.group else {
        guard candidate.blockers.isEmpty else { continue }
        let single = candidates.filter { $0.group == nil && !$0.isBisected }
        let isInOrder = single.allSatisfy(\.precedents.isEmpty)
        return .send(zone, pack(isInOrder ? single : ordered(single), room), atomic: false)
      }
      guard tried.insert(group).inserted else { continue }
      let members = groups[group] ?? []
      let ids = Set(members.map(\.id))
      // A group is sent only as a whole: a member that is on hold blocks the others.
      guard members.count == groupSizes[group], members.allSatisfy({ $0.blockers.isSubset(of: ids) }) else { continue }
      return .send(zone, ordered(members).map(\.id), atomic: true)
    }
    return nil
  }

  /// Returns half of a request that was rejected as a whole, to isolate the bad record: eight steps find one among 200.
  /// Other operations are sent in full requests meanwhile.
  private func halfOfBisection(_ candidates: [Candidate]) -> [Int64]? {
    var tried: Set<Int64> = []
    for candidate in candidates {
      guard candidate.isBisected, let number = candidate.bisection, tried.insert(number).inserted else { continue }
      let range = candidates.filter { $0.isBisected && $0.bisection == number }
      let half = pack(range, Room(operations: min(operationLimit, (range.count + 1) / 2)))
      if !half.isEmpty { return half }
    }
    return nil
  }

  /// Fills a request with unblocked operations, then with those blocked only by operations already in it.
  private func pack(_ candidates: [Candidate], _ room: Room) -> [Int64] {
    var room = room
    var batch: [Int64] = []
    var taken: Set<Int64> = []
    let saves = Set(candidates.lazy.filter { $0.kind == .save }.map(\.id))
    var rest = candidates
    while room.operations > 0 {
      let before = batch.count
      rest = rest.filter { candidate in
        guard candidate.blockers.isSubset(of: taken), !candidate.mayTakeAlong(saves), room.take(candidate) else {
          return true
        }
        batch.append(candidate.id)
        taken.insert(candidate.id)
        return false
      }
      if batch.count == before { break }
    }
    return batch
  }
}

/// The room left in a request.
struct Room {
  private(set) var operations: Int
  private var bytes = Planner.byteLimit
  private var references = Planner.referenceLimit
  private var assets = Planner.assetLimit
  private var isEmpty = true

  init(operations: Int) { self.operations = operations }

  /// Adds the operation if it fits. An operation that is too large by itself is sent alone.
  mutating func take(_ candidate: Candidate) -> Bool {
    let fits =
      candidate.bytes <= bytes && candidate.references <= references && candidate.assets <= assets
    guard operations > 0, fits || isEmpty else { return false }
    isEmpty = false
    operations -= 1
    bytes -= candidate.bytes
    references -= candidate.references
    assets -= candidate.assets
    return true
  }
}

/// Returns the members with blockers and referenced records before those that need them; members of a reference cycle
/// by age.
func ordered(_ members: [Candidate]) -> [Candidate] {
  let places = Dictionary(members.enumerated().map { ($1.id, $0) }) { first, _ in first }
  return dependencyOrder(members.map { Set($0.blockers.union($0.precedents).compactMap { places[$0] }) })
    .map { members[$0] }
}

/// The next step of the engine.
package enum Step: Hashable, Sendable {
  case makeZones([ZoneKey])
  case sendZoneOperation(Int64)
  /// Verify whether the zone exists before an operation whose reply was lost is repeated.
  case verifyZone(Int64)
  /// Re-fetch the records of these operations, all of one zone.
  case verify(ZoneKey, [Int64])
  /// Get upload receipts for the assets of these operations, all of one zone.
  case supplyAssets(ZoneKey, [Int64])
  /// Send these operations in this order in one request. `isCycle`: they block each other, so all are sent or none.
  case send(ZoneKey, [Int64], atomic: Bool, isCycle: Bool = false)
  /// Note the blockers of these operations, renew notes that may be out of date, and plan again.
  case noteBlockers([Int64])
  /// Nothing can be sent before this time; nil if no time is known.
  case rest(until: Int64?)
  /// No request may be made before this time; nil while everything is paused.
  case held(until: Int64?)

  /// The operations that it is about.
  var operations: [Int64] {
    switch self {
    case .makeZones, .rest, .held: []
    case .sendZoneOperation(let id), .verifyZone(let id): [id]
    case .verify(_, let ids), .supplyAssets(_, let ids), .noteBlockers(let ids), .send(_, let ids, _, _): ids
    }
  }
}

/// An order of record types: earlier ones are saved first and deleted last, unless a reference requires otherwise.
package struct TypeOrder: Hashable, Sendable {
  package let types: [String]

  package init(_ types: [String] = []) { self.types = types }

  /// The rank of an operation: types that are not listed are saved last and deleted first.
  func rank(_ kind: OperationKind, _ type: String?) -> Int {
    let place = type.flatMap(types.firstIndex) ?? types.count
    return kind == .delete ? types.count - place : place
  }
}
