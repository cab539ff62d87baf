package import Facts

/// What the store says about the work that could be done now. Read in one transaction, decided on without touching it.
package struct Workload: Hashable, Sendable {
  /// An operation that may be sent as far as its own state goes.
  package struct Candidate: Hashable, Sendable {
    package var id: Int64
    package var kind: OperationKind
    package var zone: ZoneKey
    package var bytes: Int
    /// How many references the request carries for it.
    package var references: Int
    /// How many assets the request carries for it.
    package var assets: Int
    package var blockers: Set<Int64>
    /// Operations that had better go before this one, where both are in hand.
    package var precedents: Set<Int64> = []
    package var group: String?
    /// Operations of one number were in a request that was refused whole, for one record that nobody named: it has to be
    /// among them still. Below zero it was a look-up.
    package var suspicion: Int64?

    /// An atomic group is refused or taken as one: its members cannot be told apart.
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
  /// Zone operations that may be sent, oldest first.
  package var zoneOperations: [Candidate] = []
  /// Those of them that were sent and not answered: what became of the zone has to be looked up first.
  package var unansweredZoneOperations: Set<Int64> = []
  /// Zones to be made on the server before their changes can go.
  package var missingZones: [ZoneKey] = []
  /// Operations whose record has to be read first.
  package var readBacks: [Candidate] = []
  /// Operations whose assets have to be brought to the server first, oldest first.
  package var uploads: [Candidate] = []
  /// Operations that may be sent, the zone whose turn it is first, and within a zone oldest first.
  package var candidates: [Candidate] = []
  /// How many operations of an atomic group are in the queue at all.
  package var groupSizes: [String: Int] = [:]
  /// When the earliest own back-off ends.
  package var nextBackOffEnd: Int64?

  package init() {}

  /// Whether no save may go: the quota is full, or the app is to see them first.
  var savesAreHeld: Bool { waits[.quota] != nil || savesWaitForApp }
}

/// What a server's wait, or our own, holds up.
package enum WaitScope: Hashable, Sendable {
  case network, account, quota, database
  case zone(ZoneKey)
  /// One feed, which cannot be read just now: nothing that is to be sent waits for it. By a name of its own.
  case feed(String)

  /// The feed of the database's zones, of a zone, or of a record type by modification time.
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
    // Scalar by scalar, here and below: a zone's name may begin with what combines with the colon before it.
    case _ where name.utf8.starts(with: "feed:".utf8):
      self = .feed(String(name.unicodeScalars.dropFirst("feed:".count)))
    default:
      let parts = name.unicodeScalars.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        .map { Self.plain($0) }
      self = .zone(ZoneKey(zone: parts.count > 1 ? parts[1] : name, owner: parts.count > 2 ? parts[2] : ""))
    }
  }

  /// The scope in a cause.
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

  /// Whether this wait holds up everything.
  package var stopsAll: Bool {
    switch self {
    case .network, .account, .database: true
    case .quota, .zone, .feed: false
    }
  }

  /// What a change feed or a polled query fetches, by its name: `ZONE`, `ZONE/TYPE`, or empty for the list of zones.
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

  /// The zone, and after a colon its owner where that is somebody else: what would be taken for something else is spelled
  /// as `%` and two digits.
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

/// The one next thing to do about the queue.
package enum Step: Hashable, Sendable {
  case makeZones([ZoneKey])
  case sendZoneOperation(Int64)
  /// Ask whether the zone is there before an operation whose answer was lost is repeated.
  case lookUpZone(Int64)
  /// Look the records of these operations up, all of one zone.
  case readBack(ZoneKey, [Int64])
  /// Bring the assets of these operations to the server, all of one zone.
  case supplyAssets(ZoneKey, [Int64])
  /// Send these operations in this order in one request. `deferring` names operations that go without their links to those
  /// they would have to wait for; the links follow.
  case send(ZoneKey, [Int64], atomic: Bool, deferring: [Int64: Set<Int64>] = [:])
  /// Nothing can be done before this time, if at any.
  case rest(until: Int64?)
}
