package import Facts
import Foundation

/// The work that could be done now. Each part is read only if the parts before it offer nothing to do.
package protocol Workload {
  /// Everything outside a change that can hold it back.
  var scope: SendScope { get }
  /// The number of requests so far.
  var turn: Int64 { get }
  /// Zones to create on the server before their changes can be sent.
  var missingZones: [ZoneKey] { get throws }
  /// Operations that must be verified first, oldest first.
  var toVerify: [Candidate] { get throws }
  /// Operations whose assets must be uploaded first, oldest first.
  var uploads: [Candidate] { get throws }
  /// Zones with changes to be sent, the one served longest ago first.
  var zones: [ZoneKey] { get throws }
  /// The operations that are noted to wait for themselves: each closes a reference cycle.
  var closers: [Int64] { get throws }
  /// Whether notes of blocked operations must be renewed.
  var hasOldNotes: Bool { get throws }
  /// The end of the earliest back-off.
  var nextBackOffEnd: Int64? { get throws }
  /// Operations of a zone, the oldest unblocked ones first; nil if their notes must be renewed before.
  ///
  /// - Parameter toNote: gets the blocked operations that need a note before others can be found.
  func candidates(of zone: ZoneKey, toNote: inout [Int64]) throws -> [Candidate]?
  /// The reference cycle that an operation closes.
  func cycle(closedBy closer: Int64) throws -> ReferenceCycle
  /// The number of queued operations in each atomic group of these.
  func groupSizes(of candidates: [Candidate]) throws -> [String: Int]
}

/// The scope of a wait that the server asked for, or of our own back-off.
package enum WaitScope: Codable, Hashable, Sendable {
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
    case .zone(let key): .zone(key.title)
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
    let names = parts[0].split(separator: ":", maxSplits: 1).map { plain($0) }
    let place = names.first ?? ""
    let isUnnamed = place.isEmpty || place == ZoneKey.defaultZone.zone
    return .fetch(
      zone: isUnnamed && (parts.count > 1 || place.isEmpty)
        ? nil : ZoneKey(zone: place, owner: names.count > 1 ? names[1] : "").title,
      type: parts.count > 1 ? String(parts[1]) : nil
    )
  }

  // MARK: - Zones as text

  /// The zone's name, and after a colon its owner if another user owns it. Special characters are percent-encoded.
  private static func text(_ zone: ZoneKey) -> String {
    zone.owner.isEmpty ? escaped(zone.zone) : "\(escaped(zone.zone)):\(escaped(zone.owner))"
  }

  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      "%:/".unicodeScalars.contains(scalar) ? "%" + String(scalar.value, radix: 16, uppercase: true) : String(scalar)
    }.joined()
  }

  private static func plain(_ text: Substring.UnicodeScalarView) -> String {
    String(text).removingPercentEncoding ?? String(text)
  }
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
