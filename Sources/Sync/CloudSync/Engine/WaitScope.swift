package import Facts
import Foundation

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
