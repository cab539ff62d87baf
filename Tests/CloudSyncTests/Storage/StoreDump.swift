import CloudKit

@testable import CloudSync

/// All that a ledger says, to be compared with what another says.
struct StoreDump: Equatable {
  /// An operation with what is derived from others.
  struct Operation: Equatable {
    var operation: QueuedOperation?
    var byKey: Int64?
    var blockers: [Int64]
    var attempts: [Attempt]
    var history: HistoryEntry?
  }

  struct Zone: Equatable {
    var zone: KnownZone?
    var operations: [Int64]
    var dependent: [Int64]
    var records: [MirrorRecord?]
    var versions: [MirrorVersion?]
    var tags: [String?]
    var notSeen: [String]
    var gone: [String]
    var count: Int
    var types: [String]
    var typeTags: [[RecordKey: String]]
    var queuedTypes: [String]
  }

  var operations: [Operation]
  var byState: [[Int64]]
  var counts: [Int]
  var groups: [[RecordKey]]
  var groupSizes: [Int]
  var deletions: [ZoneKey: Int64]
  var candidates: [[Workload.Candidate]]
  var zonesToMake: [[ZoneKey]]
  var backOffEnds: [Int64?]
  var zones: [KnownZone]
  var byZone: [Zone]
  var isBlank: Bool
  var pulls: [Pull]
  var waits: [ScopeWait]
  var values: [String?]
  var lease: LeaseHolder?
  var activity: DriverActivity
  var passes: [RequestedPass]
  var history: [HistoryEntry]
  var events: [EventRow]
  var commands: [AuditedCommand]
  var dropped: [DroppedChange]
  var lists: [Window<QueueRow>]
  var totals: [OperationState: QueueTotals]
  var parts: [QueuePart]
  var recordLists: [Window<RecordRow>]
  var walks: [[RecordRow]]
  var named: [[RecordRow]]
  var recordTotals: [RecordTotal]
  var fieldTypes: [[String: String]]
  /// By record, without the numbers: in which order a zone's records go is the storage's business.
  var deliveries: [Delivery]

  static let names = ["a", "b", "c", "d"]
  static let types = ["Note", "Task"]
  static let zones = [ZoneKey(zone: "one"), ZoneKey(zone: "one", owner: "ben"), ZoneKey(zone: "two"), .defaultZone]
  static let groupNames = ["g", "h"]
  static let times: [Int64] = [0, 500, 5000]

  init(_ ledger: any Ledger) throws {
    let ids = try ledger.operationIDs(matching: nil, now: 0)
    let highest = (ids.max() ?? 0) + 3
    operations = try (0...highest).map { id in
      let operation = try ledger.operation(id)
      return Operation(
        operation: operation,
        byKey: try operation.flatMap { $0.key.name.isEmpty ? nil : try ledger.operation(for: $0.key)?.id },
        blockers: try ledger.blockers(of: id),
        attempts: try ledger.attempts(of: id),
        history: try ledger.history(of: id)
      )
    }
    byState = try OperationState.allCases.map { try ledger.operations(in: $0).map(\.id) }
    counts = try OperationState.allCases.map { try ledger.operationCount(in: $0) }
    groups = try Self.groupNames.map { try ledger.keys(inGroup: $0) }
    groupSizes = try Self.groupNames.map { try ledger.groupSize($0) }
    deletions = try ledger.zoneDeletions()
    candidates = try Self.queries(ids).map { try ledger.candidates($0) }
    zonesToMake = try Self.times.map { try ledger.zonesToMake(now: $0) }
    backOffEnds = try ([.min] + Self.times).map { try ledger.nextBackOffEnd(after: $0) }
    zones = try ledger.zones()
    byZone = try Self.zones.map { zone in
      let keys = Self.names.map { RecordKey(zone, $0) }
      return Zone(
        zone: try ledger.zone(zone),
        operations: try ledger.operations(of: zone).map(\.id),
        dependent: try ledger.dependentOperations(of: zone),
        records: try keys.map { try ledger.record($0) },
        versions: try keys.map { try ledger.version($0) },
        tags: try keys.map { try ledger.changeTag($0) },
        notSeen: try ledger.namesNotSeen(zone, epoch: 2),
        gone: try ledger.namesGone(zone),
        count: try ledger.recordCount(of: zone),
        types: try ledger.recordTypes(in: zone),
        typeTags: try Self.types.map { try ledger.changeTags(zone, type: $0) },
        queuedTypes: try ledger.queuedTypes(in: zone)
      )
    }
    isBlank = try ledger.isBlank()
    pulls = try ledger.pulls()
    waits = try ledger.waits(after: 100)
    values = try ["k", "l"].map { try ledger.value($0) }
    lease = try ledger.lease()
    activity = try ledger.activity()
    passes = try ledger.openPasses() + (0...5).compactMap { try ledger.pass($0) }
    history = try ledger.history(limit: 100)
    events = try ledger.events(limit: 100)
    commands = try ledger.commands(limit: 100)
    dropped = try ledger.openDropped(limit: 100) + (0...highest).flatMap { try ledger.dropped(of: $0) }
    lists = try Self.lists.map { try ledger.operations(matching: $0.query, offset: $0.offset, limit: $0.limit) }
    totals = try ledger.queueTotals()
    parts = try ledger.queueParts()
    recordLists = try Self.recordQueries.flatMap { query in
      [
        try ledger.records(matching: query, offset: 0, limit: nil),
        try ledger.records(matching: query, offset: 1, limit: 2),
      ]
    }
    walks = try Self.recordQueries.filter(\.text.isEmpty).flatMap { query in
      let page = { (key: RecordKey?, limit: Int) in
        try ledger.records(after: key, of: query.zone, type: query.type, mirrorOnly: query.mirrorOnly, limit: limit)
      }
      let first = try page(nil, 2)
      return [first, try page(first.last?.record.key, 100)]
    }
    named = try Self.names.flatMap { name in
      [try ledger.records(named: name, mirrorOnly: false), try ledger.records(named: name, mirrorOnly: true)]
    }
    recordTotals = try ledger.recordTotals()
    fieldTypes = try Self.types.map { try ledger.fieldTypes(of: $0) }
    deliveries = try (ledger.deliveries(isGone: false, limit: 100) + ledger.deliveries(isGone: true, limit: 100)).sorted
    { $0.key < $1.key }.map { delivery in
      var delivery = delivery
      delivery.number = 0
      return delivery
    }
  }

  private static func queries(_ ids: [Int64]) -> [CandidateQuery] {
    let ofZones = zones.flatMap { zone -> [CandidateQuery.Kind] in
      [.free(zone), .suspects(zone), .waitingFor(zone, ids), .waitingFor(zone, Array(ids.prefix(1)))]
    }
    let kinds = ofZones + [.zoneOperations, .readBacks, .entangled, .members(groupNames)]
    return times.flatMap { now in
      kinds.flatMap { kind in
        [
          CandidateQuery(kind: kind, now: now, limit: 800), CandidateQuery(kind: kind, now: now, limit: 1),
          CandidateQuery(kind: kind, now: now, savesAreHeld: true, limit: 800),
        ]
      }
    }
  }

  private static let lists: [(query: QueueQuery, offset: Int, limit: Int?)] = {
    let filters = [
      "state = 'pending' or attempts > 1", "name like 'A' and age > 0s", "error is null", "payload like '%a%'",
    ]
    return [(QueueQuery(now: 0), 0, nil), (QueueQuery(now: 0), 1, 2), (QueueQuery(text: "NoTe", now: 0), 0, nil)]
      + filters.compactMap { text in
        (try? QueueFilter(parsing: text)).map { (QueueQuery(filter: $0, text: "e", now: 900), 0, nil) }
      }
  }()

  private static let recordQueries: [RecordQuery] =
    [false, true].flatMap { mirrorOnly in
      [
        RecordQuery(mirrorOnly: mirrorOnly), RecordQuery(zone: zones[0], mirrorOnly: mirrorOnly),
        RecordQuery(type: "Note", mirrorOnly: mirrorOnly), RecordQuery(text: "HELLO", mirrorOnly: mirrorOnly),
        RecordQuery(zone: zones[2], type: "Task", text: "value", mirrorOnly: mirrorOnly),
      ]
    }
}
