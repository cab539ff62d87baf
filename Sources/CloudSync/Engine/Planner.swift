import CloudKit

/// What the store says about the work that could be done now. Read in one transaction, decided on without touching it.
package struct Workload: Hashable, Sendable {
  /// An operation that may be sent as far as its own state goes.
  package struct Candidate: Hashable, Sendable {
    package var id: Int64
    package var kind: OperationKind
    package var zone: ZoneKey
    package var bytes: Int
    package var blockers: Set<Int64> = []
    package var group: String?

    package init(
      id: Int64,
      kind: OperationKind,
      zone: ZoneKey,
      bytes: Int,
      blockers: Set<Int64> = [],
      group: String? = nil
    ) {
      self.id = id
      self.kind = kind
      self.zone = zone
      self.bytes = bytes
      self.blockers = blockers
      self.group = group
    }
  }

  package var isPaused = false
  /// Scopes that wait, with the end of the wait in milliseconds since 1970.
  package var waits: [WaitScope: Int64] = [:]
  /// Zone operations that may be sent, oldest first.
  package var zoneOperations: [Candidate] = []
  /// Zones to be made on the server before their changes can go.
  package var missingZones: [ZoneKey] = []
  /// Operations whose record has to be read first.
  package var readBacks: [Candidate] = []
  /// Operations whose assets have to be brought to the server first, oldest first.
  package var uploads: [Candidate] = []
  /// Operations that may be sent, oldest first, those that wait for nothing before those that wait for them.
  package var candidates: [Candidate] = []
  /// How many operations of an atomic group are in the queue at all.
  package var groupSizes: [String: Int] = [:]
  /// When the earliest own back-off ends.
  package var nextBackOffEnd: Int64?

  package init() {}
}

/// What a server's wait, or our own, holds up.
package enum WaitScope: Hashable, Sendable {
  case network, account, quota, database
  case zone(ZoneKey)
  /// One feed, which cannot be read just now: nothing that is to be sent waits for it. By a name of its own.
  case feed(String)

  /// The feed of the database's zones, of a zone, or of a record type by modification time.
  static func feed(of zone: ZoneKey? = nil, type: String? = nil) -> WaitScope {
    let place = zone.map { $0.owner.isEmpty ? $0.zone : "\($0.zone):\($0.owner)" } ?? ""
    return .feed(type.map { "\(place)/\($0)" } ?? place)
  }

  /// The name in the store and in `status`.
  package var name: String {
    switch self {
    case .network: "network"
    case .account: "account"
    case .quota: "quota"
    case .database: "database"
    case .feed(let name): "feed:\(name)"
    case .zone(let key): key.owner.isEmpty ? "zone:\(key.zone)" : "zone:\(key.zone):\(key.owner)"
    }
  }

  package init(name: String) {
    switch name {
    case "network": self = .network
    case "account": self = .account
    case "quota": self = .quota
    case "database": self = .database
    case _ where name.hasPrefix("feed:"): self = .feed(String(name.dropFirst("feed:".count)))
    default:
      let parts = name.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
      self = .zone(ZoneKey(zone: parts.count > 1 ? parts[1] : name, owner: parts.count > 2 ? parts[2] : ""))
    }
  }

  /// Whether this wait holds up everything.
  package var stopsAll: Bool {
    switch self {
    case .network, .account, .database: true
    case .quota, .zone, .feed: false
    }
  }
}

/// The one next thing to do about the queue.
package enum Step: Hashable, Sendable {
  case makeZones([ZoneKey])
  case sendZoneOperation(Int64)
  /// Look the records of these operations up, all of one zone.
  case readBack(ZoneKey, [Int64])
  /// Bring the assets of these operations to the server, all of one zone.
  case supplyAssets(ZoneKey, [Int64])
  /// Send these operations in this order in one request.
  case send(ZoneKey, [Int64], atomic: Bool)
  /// Nothing can be done before this time, if at any.
  case rest(until: Int64?)
}

/// Decides what is sent next. Performs no work, knows no clock.
package struct Planner: Hashable, Sendable {
  /// Operations the server takes in one request (reference 4).
  package static let requestLimit = 200
  /// Operations a request may hold: less than the server takes after it refused one as too large.
  package var operationLimit = requestLimit
  /// Bytes a request may hold: below the 2 MB that Web Services are assumed to take (reference 4).
  package static let byteLimit = 1_500_000

  package init(operationLimit: Int = requestLimit) {
    self.operationLimit = max(1, min(Self.requestLimit, operationLimit))
  }

  /// The next step for this workload.
  package func plan(_ workload: Workload) -> Step {
    let stopping = workload.waits.filter { $0.key.stopsAll }.values.max()
    if workload.isPaused { return .rest(until: nil) }
    if let stopping { return .rest(until: stopping) }
    let isOpen = { (zone: ZoneKey) in workload.waits[.zone(zone)] == nil }

    if let operation = workload.zoneOperations.first(where: { isOpen($0.zone) }) {
      return .sendZoneOperation(operation.id)
    }
    let zones = workload.missingZones.filter(isOpen).prefix(Self.requestLimit)
    if !zones.isEmpty { return .makeZones(Array(zones)) }
    if let first = workload.readBacks.first(where: { isOpen($0.zone) }) {
      let ids = workload.readBacks.filter { $0.zone == first.zone }.prefix(operationLimit).map(\.id)
      return .readBack(first.zone, Array(ids))
    }
    let quotaIsFull = workload.waits[.quota] != nil
    let canGo = { (candidate: Workload.Candidate) in
      isOpen(candidate.zone) && !workload.missingZones.contains(candidate.zone)
        && !(quotaIsFull && candidate.kind == .save)
    }
    if let batch = batch(workload.candidates.filter(canGo), groupSizes: workload.groupSizes) { return batch }
    // After what can be sent: once a record with the same bytes is saved, others need no upload of their own.
    let uploads = workload.uploads.filter(canGo)
    if let first = uploads.first {
      return .supplyAssets(first.zone, uploads.filter { $0.zone == first.zone }.prefix(Self.requestLimit).map(\.id))
    }
    return .rest(until: (Array(workload.waits.values) + [workload.nextBackOffEnd].compactMap { $0 }).min())
  }

  /// One request's worth of one zone, or one whole atomic group.
  private func batch(_ candidates: [Workload.Candidate], groupSizes: [String: Int]) -> Step? {
    var tried: Set<String> = []
    for candidate in candidates where candidate.blockers.isEmpty || candidate.group != nil {
      guard let group = candidate.group else {
        return .send(
          candidate.zone,
          pack(candidates.filter { $0.zone == candidate.zone && $0.group == nil }),
          atomic: false
        )
      }
      guard tried.insert(group).inserted else { continue }
      let members = candidates.filter { $0.group == group }
      let ids = Set(members.map(\.id))
      // A group goes whole or not at all: one member that is held holds the others.
      guard members.count == groupSizes[group], members.allSatisfy({ $0.blockers.isSubset(of: ids) }) else { continue }
      return .send(candidate.zone, ordered(members), atomic: true)
    }
    return cycle(candidates)
  }

  /// Takes what is free, then what waits only for what is taken, until the request is full.
  private func pack(_ candidates: [Workload.Candidate]) -> [Int64] {
    var batch: [Int64] = []
    var taken: Set<Int64> = []
    var bytes = 0
    var rest = candidates
    while true {
      var left: [Workload.Candidate] = []
      let before = batch.count
      for candidate in rest {
        guard batch.count < operationLimit else { return batch }
        let fits = bytes + candidate.bytes <= Self.byteLimit || batch.isEmpty
        if fits, candidate.blockers.isSubset(of: taken) {
          batch.append(candidate.id)
          taken.insert(candidate.id)
          bytes += candidate.bytes
        } else {
          left.append(candidate)
        }
      }
      if batch.count == before { return batch }
      rest = left
    }
  }

  /// Blockers first; what waits for each other, by age.
  private func ordered(_ members: [Workload.Candidate]) -> [Int64] {
    var ids: [Int64] = []
    var rest = members
    while !rest.isEmpty {
      let pending = Set(rest.map(\.id))
      let free = rest.filter { $0.blockers.isDisjoint(with: pending) }
      let next = free.isEmpty ? [rest[0]] : free
      ids += next.map(\.id)
      let taken = Set(next.map(\.id))
      rest.removeAll { taken.contains($0.id) }
    }
    return ids
  }

  /// Records that refer to each other in a ring can only go together.
  private func cycle(_ candidates: [Workload.Candidate]) -> Step? {
    let byID = Dictionary(candidates.filter { $0.group == nil }.map { ($0.id, $0) }) { first, _ in first }
    for start in candidates where start.group == nil {
      var reached: [Int64: Workload.Candidate] = [:]
      var frontier = [start.id]
      while let id = frontier.popLast() {
        guard reached[id] == nil else { continue }
        guard let candidate = byID[id], candidate.zone == start.zone, reached.count < operationLimit else {
          reached = [:]
          break
        }
        reached[id] = candidate
        frontier += candidate.blockers
      }
      guard !reached.isEmpty else { continue }
      return .send(start.zone, ordered(reached.values.sorted { $0.id < $1.id }), atomic: false)
    }
    return nil
  }
}
