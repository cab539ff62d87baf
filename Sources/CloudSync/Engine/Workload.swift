package import Facts

/// The work that could be done now, read in one transaction for the planner.
package struct Workload: Hashable, Sendable {
  /// An operation that is sendable by its own state.
  package struct Candidate: Hashable, Sendable {
    package var id: Int64
    package var kind: OperationKind
    package var zone: ZoneKey
    package var bytes: Int
    /// The number of references in the request.
    package var references: Int
    /// The number of assets in the request.
    package var assets: Int
    package var blockers: Set<Int64>
    /// Operations that should preferably be sent before this one.
    package var precedents: Set<Int64> = []
    package var group: String?
    /// Identifies a request with this operation that was rejected as a whole, for one record that the server did not
    /// name. Negative for a re-fetch.
    package var suspicion: Int64?

    /// Whether bisection applies. The members of an atomic group cannot be separated.
    var isSuspect: Bool { suspicion != nil && group == nil }

    package init(
      id: Int64,
      kind: OperationKind,
      zone: ZoneKey,
      bytes: Int,
      references: Int = 0,
      assets: Int = 0,
      blockers: Set<Int64> = [],
      group: String? = nil,
      suspicion: Int64? = nil
    ) {
      self.id = id
      self.kind = kind
      self.zone = zone
      self.bytes = bytes
      self.references = references
      self.assets = assets
      self.blockers = blockers
      self.group = group
      self.suspicion = suspicion
    }
  }

  package var isPaused = false
  /// Whether saves wait for the app, which this process cannot ask.
  package var savesWaitForApp = false
  /// Scopes that wait, with the end of the wait in milliseconds since 1970.
  package var waits: [WaitScope: Int64] = [:]
  /// Sendable zone operations, oldest first.
  package var zoneOperations: [Candidate] = []
  /// Zone operations whose reply was lost: the zone must be verified first.
  package var unansweredZoneOperations: Set<Int64> = []
  /// Zones to create on the server before their changes can be sent.
  package var missingZones: [ZoneKey] = []
  /// Operations that must be verified first.
  package var readBacks: [Candidate] = []
  /// Operations whose assets must be uploaded first, oldest first.
  package var uploads: [Candidate] = []
  /// Sendable operations of the zone that is next, oldest first.
  package var candidates: [Candidate] = []
  /// Blocked operations that need a note before others can be found.
  package var toNote: [Int64] = []
  /// Whether notes of blocked operations must be renewed.
  package var hasOldNotes = false
  /// The number of queued operations in each atomic group.
  package var groupSizes: [String: Int] = [:]
  /// The end of the earliest back-off.
  package var nextBackOffEnd: Int64?

  package init() {}

  /// Whether no save may be sent: the quota is full, or the app must approve them.
  var savesAreHeld: Bool { waits[.quota] != nil || savesWaitForApp }
}

/// The scope of a wait that the server asked for, or of our own back-off.
package enum WaitScope: Hashable, Sendable {
  case network, account, quota, database
  case zone(ZoneKey)
  /// A change feed or polled query. Nothing that is to be sent waits for it.
  case feed(String)

  /// The scope of the database's change feed, a zone's, or a polled query.
  static func feed(of zone: ZoneKey? = nil, type: String? = nil) -> WaitScope {
    let place = zone.map(Self.text) ?? ""
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
    case .zone(let key): "zone:\(Self.text(key))"
    }
  }

  package init(name: String) {
    switch name {
    case "network": self = .network
    case "account": self = .account
    case "quota": self = .quota
    case "database": self = .database
    // By scalars, here and below: a zone's name may begin with a combining character.
    case _ where name.utf8.starts(with: "feed:".utf8):
      self = .feed(String(name.unicodeScalars.dropFirst("feed:".count)))
    default:
      let parts = name.unicodeScalars.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        .map { Self.plain($0) }
      self = .zone(ZoneKey(zone: parts.count > 1 ? parts[1] : name, owner: parts.count > 2 ? parts[2] : ""))
    }
  }

  package var asCause: Cause.Scope {
    switch self {
    case .network: .network
    case .account: .account
    case .quota: .quota
    case .database: .database
    case .zone(let key): .zone(key.zone)
    case .feed(let name): Self.fetch(name)
    }
  }

  /// Whether this wait stops everything.
  package var stopsAll: Bool {
    switch self {
    case .network, .account, .database: true
    case .quota, .zone, .feed: false
    }
  }

  /// The target of a change feed or polled query, from its name: `ZONE`, `ZONE/TYPE`, or empty for the list of zones.
  private static func fetch(_ name: String) -> Cause.Scope {
    let parts = name.unicodeScalars.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map { $0 }
    let place = plain(parts[0].prefix { $0 != ":" })
    let isUnnamed = place.isEmpty || place == ZoneKey.defaultZone.zone
    return .fetch(
      zone: isUnnamed && (parts.count > 1 || place.isEmpty) ? nil : place,
      type: parts.count > 1 ? String(parts[1]) : nil
    )
  }

  // MARK: - Zones as text

  /// The zone's name, and after a colon its owner if another user owns it. Special characters are percent-encoded.
  private static func text(_ zone: ZoneKey) -> String {
    zone.owner.isEmpty ? escaped(zone.zone) : "\(escaped(zone.zone)):\(escaped(zone.owner))"
  }

  private static let escapes: [Unicode.Scalar: String] = ["%": "%25", ":": "%3A", "/": "%2F"]

  private static func escaped(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if let escape = escapes[scalar] { result += escape.unicodeScalars } else { result.append(scalar) }
    }
    return String(result)
  }

  private static func plain(_ text: Substring.UnicodeScalarView) -> String {
    var result = String.UnicodeScalarView()
    var rest = text
    while let scalar = rest.first {
      if let escape = escapes.first(where: { rest.starts(with: $0.value.unicodeScalars) }) {
        result.append(escape.key)
        rest = rest.dropFirst(escape.value.count)
      } else {
        result.append(scalar)
        rest = rest.dropFirst()
      }
    }
    return String(result)
  }
}

/// The next step of the engine.
package enum Step: Hashable, Sendable {
  case makeZones([ZoneKey])
  case sendZoneOperation(Int64)
  /// Verify whether the zone exists before an operation whose reply was lost is repeated.
  case lookUpZone(Int64)
  /// Re-fetch the records of these operations, all of one zone.
  case readBack(ZoneKey, [Int64])
  /// Get upload receipts for the assets of these operations, all of one zone.
  case supplyAssets(ZoneKey, [Int64])
  /// Send these operations in this order in one request. `deferring` names, for operations in a reference cycle, the
  /// blockers to which references are deferred.
  case send(ZoneKey, [Int64], atomic: Bool, deferring: [Int64: Set<Int64>] = [:])
  /// Note the blockers of these operations, renew notes that may be out of date, and plan again.
  case noteBlockers([Int64])
  /// Nothing can be done before this time; nil if no time is known.
  case rest(until: Int64?)

  /// The operations that it is about.
  var operations: [Int64] {
    switch self {
    case .makeZones, .rest: []
    case .sendZoneOperation(let id), .lookUpZone(let id): [id]
    case .readBack(_, let ids), .supplyAssets(_, let ids), .noteBlockers(let ids), .send(_, let ids, _, _): ids
    }
  }

  /// Whether it asks something of the server.
  var isRequest: Bool {
    switch self {
    case .noteBlockers, .rest: false
    default: true
    }
  }
}
