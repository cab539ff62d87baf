import CloudKitSchema
import Foundation

/// The parsed path of a request: `/database/1/{container}/{environment}/{database}/{operation}` [D], or, for push
/// tokens, which belong to no database, `/device/1/{container}/{environment}/{operation}` [L3].
struct Route: Sendable {
  enum Scope: String, Sendable {
    case `public`
    case `private`
    case shared
  }

  /// The operations that this server supports.
  enum Operation: String, Sendable, CaseIterable {
    case recordsQuery = "records/query"
    case recordsLookup = "records/lookup"
    case recordsModify = "records/modify"
    case recordsChanges = "records/changes"
    case recordsResolve = "records/resolve"
    case recordsAccept = "records/accept"
    case zonesList = "zones/list"
    case zonesLookup = "zones/lookup"
    case zonesModify = "zones/modify"
    case zonesChanges = "zones/changes"
    case changesDatabase = "changes/database"
    case changesZone = "changes/zone"
    case assetsUpload = "assets/upload"
    case assetsRereference = "assets/rereference"
    case subscriptionsList = "subscriptions/list"
    case subscriptionsLookup = "subscriptions/lookup"
    case subscriptionsModify = "subscriptions/modify"
    case tokensCreate = "tokens/create"
    case tokensRegister = "tokens/register"
    case usersCaller = "users/caller"
    case usersCurrent = "users/current"
    case usersDiscover = "users/discover"
    case usersLookupEmail = "users/lookup/email"
    case usersLookupID = "users/lookup/id"
    case usersLookupContacts = "users/lookup/contacts"

    /// Returns the HTTP methods of the operation. Operations documented for GET also accept `POST {}`. [L1]
    /// (Question 3) For discovery, POST has its own meaning. [D]
    func methods(_ assumptions: EmulatorAssumptions) -> [String] {
      switch self {
      case .zonesList, .subscriptionsList, .usersCaller, .usersCurrent:
        assumptions.listsTakePost ? ["GET", "POST"] : ["GET"]
      case .usersDiscover: ["GET", "POST"]
      default: ["POST"]
      }
    }

    /// The databases that have the operation, from the table of endpoints (reference 5). [D]
    var scopes: [Scope] {
      switch self {
      case .recordsQuery, .recordsLookup, .recordsModify, .zonesList, .zonesLookup, .assetsUpload, .assetsRereference,
        .subscriptionsList, .subscriptionsLookup, .subscriptionsModify, .tokensCreate, .tokensRegister:
        [.public, .private, .shared]
      case .zonesModify, .zonesChanges: [.private]
      case .recordsResolve, .recordsAccept: [.public]
      case .recordsChanges, .changesDatabase, .changesZone: [.private, .shared]
      case .usersCaller, .usersCurrent, .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupContacts:
        [.public]
      }
    }

    /// Whether the request may have no body. [E]
    var isList: Bool {
      [.zonesList, .subscriptionsList, .usersCaller, .usersCurrent, .usersDiscover, .usersLookupContacts].contains(self)
    }

    /// Whether responses can include the zone's sync token. [L1]
    var answersWithSyncToken: Bool { [.recordsQuery, .recordsLookup, .recordsModify].contains(self) }

    var isAboutUsers: Bool { rawValue.hasPrefix("users/") }

    /// Whether an API token alone is not enough, from the table of credentials (reference 1.3). [D][E]
    var needsUser: Bool {
      isAboutUsers || self == .recordsAccept || rawValue.hasPrefix("subscriptions/") || rawValue.hasPrefix("tokens/")
    }
  }

  var container: String
  var environment: String
  var scope: Scope
  var operation: Operation

  /// Whether the name is a valid container. Containers are part of keys and paths, so their names must not contain
  /// separators. [E]
  static func isContainer(_ name: String) -> Bool {
    name.hasPrefix("iCloud.") && name.utf8.count <= 255
      && name.utf8.allSatisfy { CKSchema.isLetter($0) || CKSchema.isDigit($0) || [0x2D, 0x2E, 0x5F].contains($0) }
  }

  init?(path: String) {
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).map {
      QueryString.decode($0, plusIsSpace: false)
    }
    guard parts.count > 5, ["database", "device"].contains(parts[0]), parts[1] == "1",
      let container = parts[2], Self.isContainer(container),
      let environment = parts[3], ["development", "production"].contains(environment)
    else { return nil }
    self.container = container
    self.environment = environment
    let scope = parts[0] == "database" ? parts[4].flatMap(Scope.init(rawValue:)) : nil
    let words = parts.dropFirst(scope == nil ? 4 : 5)
    guard let operation = Operation(rawValue: words.map { $0 ?? "" }.joined(separator: "/")),
      // The token calls are documented under `/database` and served under `/device`; the emulator accepts both. [D][L3]
      scope != nil || operation == .tokensCreate || operation == .tokensRegister
    else { return nil }
    self.scope = scope ?? .public
    self.operation = operation
  }
}

/// Query strings and percent-encoding.
enum QueryString {
  /// Returns the last value of each key. An unencoded `+` is a space, which breaks web auth tokens that are not
  /// encoded. [D]
  static func values(_ query: String) -> [String: String] {
    var values: [String: String] = [:]
    for pair in query.utf8.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = decode(parts[0]), let value = decode(parts.count > 1 ? parts[1] : "".utf8[...]) else { continue }
      values[key] = value
    }
    return values
  }

  /// Decodes percent-encoding. Returns `nil` if an escape is invalid or the result is not UTF-8.
  static func decode(_ text: Substring.UTF8View, plusIsSpace: Bool = true) -> String? {
    let isPlain = !text.contains { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }
    if isPlain { return String(Substring(text)) }
    let bytes = text.map { plusIsSpace && $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    return String(decoding: bytes, as: UTF8.self).removingPercentEncoding
  }

  /// Encodes everything but letters, digits, full stops and hyphens.
  static func encode(_ text: String) -> String {
    let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")
    return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
  }
}
