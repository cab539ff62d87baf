import CloudKitSchema
import Foundation
import JSONText

/// A request with a known operation, an authenticated caller and a parsed body.
struct Call {
  var route: Route
  var caller: Caller
  var body: JSONObject
  var time: Date
  /// The base of the URLs in the response.
  var baseURL = "http://emulator.invalid"
  var faults = FaultEffects()
  /// Whether the response of a record operation includes the zone's sync token.
  var wantsSyncToken = false

  var milliseconds: Int64 { Timestamps.milliseconds(time) }

  /// The encoding of field values. Both documented spellings of `numbersAsStrings` are accepted. [D]
  var encoding: FieldEncoding { Self.encoding(body) ?? FieldEncoding() }

  static func encoding(_ object: JSONObject) -> FieldEncoding? {
    (object["numbersAsStrings"] ?? object["numberAsStrings"])?.bool.map { FieldEncoding(numbersAsStrings: $0) }
  }
}

/// The whole state of an emulator and the operations on it. Protected by the lock of `Emulator`.
///
/// Comments on rules cite the protocol reference by number, such as (reference 5.3), and have a mark for the source of
/// the rule, such as [D]. (Question 13) has a switch in `EmulatorAssumptions`. The documentation's article "Protocol 0:
/// Evidence" explains the numbers and marks.
final class EmulatorCore {
  let configuration: EmulatorConfiguration
  let store: any EmulatorStore
  var databases: [DatabaseKey: DatabaseState] = [:]
  /// The last requested database that has no commit yet, so that a request that writes uses the same object.
  var asked: DatabaseState?
  var schemas: [String: CKSchema] = [:]
  /// The names of all known users, by record name.
  var users: [String: String] = [:]
  let seal: AssetSeal
  /// The number from which identifiers are made.
  var seed: UInt64 { configuration.seed ?? 0 }
  /// The number of renewals of the last web auth token of each user, under `strictWebAuth`.
  var lastTokens: [String: UInt64] = [:]
  var assets = AssetShelf()
  /// The zones with shares.
  var sharedZones: Set<Place.Key> = []
  /// The number of upload URLs created since the start.
  var uploads = 0
  var subscriptions: [DatabaseKey: [Subscription.Key: Subscription]] = [:]
  /// The push tokens of users, by their private database.
  var pushTokens: [DatabaseKey: [String]] = [:]
  var couriers: [String: Courier] = [:]
  /// The numbers of notifications sent and polls held since the start.
  var pushes = 0
  var waiters: UInt64 = 0
  /// The callbacks to call after the core is unlocked.
  var afterwards: [@Sendable () -> Void] = []
  var injector = FaultInjector(plan: FaultPlan())
  var isOffline = false
  var throttledUntil: Date?
  /// The number of requests of each caller in one second, counted only if there is a limit.
  var rates: (second: Int64, requests: [String: Int]) = (0, [:])
  var statistics = EmulatorStatistics()

  init(configuration: EmulatorConfiguration, store: any EmulatorStore) {
    self.configuration = configuration
    self.store = store
    seal = AssetSeal(configuration)
    knowAdmitted()
  }

  /// Adds the users of the configuration to the known users.
  func knowAdmitted() {
    for name in configuration.admitted { users[WebAuthToken.recordName(of: name)] = name }
  }

  /// Returns a database. Every database exists for callers, but is stored only after its first commit.
  func database(_ key: DatabaseKey) -> DatabaseState {
    if let database = databases[key] { return database }
    if let asked, asked.key == key { return asked }
    let database = DatabaseState(key: key, store: store, seed: seed)
    asked = database
    return database
  }

  func perform(_ call: Call) throws(ServerError) -> JSONObject {
    let outcome: Result<JSONObject, ServerError>
    do throws(ServerError) {
      outcome = .success(try carryOut(call))
    } catch {
      outcome = .failure(error)
    }
    // After a failed read, even an error may be wrong.
    try requireIntactReads()
    return try outcome.get()
  }

  private func carryOut(_ call: Call) throws(ServerError) -> JSONObject {
    // Observed wording. [L3]
    guard call.route.operation.scopes.contains(call.route.scope) else {
      throw .badRequest("endpoint not applicable in the database type '\(call.route.scope.rawValue)db'")
    }
    if configuration.rejectsUnknownKeys { try RequestKeys.check(call.body, of: call.route.operation) }
    switch call.route.operation {
    case .recordsQuery: return try withSyncToken(query(call), call)
    case .recordsLookup: return try withSyncToken(lookup(call), call)
    case .recordsModify: return try withSyncToken(modify(call), call)
    case .recordsChanges: return try recordChanges(call)
    case .recordsResolve: return try resolveShares(call)
    case .recordsAccept: return try acceptShares(call)
    case .zonesList: return listZones(call)
    case .zonesLookup: return try lookupZones(call)
    case .zonesModify: return try modifyZones(call)
    case .zonesChanges: return try legacyZoneChanges(call)
    case .changesDatabase: return try databaseChanges(call)
    case .changesZone: return try zoneChanges(call)
    case .assetsUpload: return try uploadAssets(call)
    case .assetsRereference: return try rereferenceAssets(call)
    case .subscriptionsList: return listSubscriptions(call)
    case .subscriptionsLookup: return try lookupSubscriptions(call)
    case .subscriptionsModify: return try modifySubscriptions(call)
    case .tokensCreate: return try createToken(call)
    case .tokensRegister: return try registerToken(call)
    case .usersCaller: return try caller(call)
    case .usersCurrent: return try currentUser(call)
    case .usersDiscover: return try discoverUsers(call)
    case .usersLookupEmail, .usersLookupID: return try lookupUsers(call)
    case .usersLookupContacts: return try lookupContacts(call)
    }
  }

  /// Adds the zone's sync token, for clients of first-party hosts that request it in the query. [L1]
  private func withSyncToken(_ answer: JSONObject, _ call: Call) -> JSONObject {
    // A caller who has just left a share can no longer see the zone.
    guard call.wantsSyncToken, let zone = try? place(call.body["zoneID"], for: call).zone, zone.isCustom else {
      return answer
    }
    return .joining(answer, ["syncToken": .string(zone.token.text)])
  }

  /// Returns the database of a call. The shared database has no state of its own: its zones are in the databases of
  /// other users. [D]
  func database(for call: Call) -> DatabaseState {
    let owner = call.route.scope == .public ? nil : call.caller.recordName ?? ""
    return database(DatabaseKey(container: call.route.container, environment: call.route.environment, owner: owner))
  }

  /// Returns the zone of a database that a zone ID names, or the default zone without one. (reference 2.1) [D]
  func zone(_ zoneID: JSON?, in database: DatabaseState) throws(ServerError) -> ZoneState {
    let (name, owner) = try Self.zoneName(zoneID)
    guard owner == nil || owner == database.owner, let zone = database.zones[name] else {
      throw ServerError(.zoneNotFound, "Zone not found")
    }
    return zone
  }

  /// Returns the name and owner in a zone ID. Some clients name the owner's key `ownerName`. [C]
  static func zoneName(_ zoneID: JSON?) throws(ServerError) -> (name: String, owner: String?) {
    guard let zoneID else { return (ZoneState.defaultName, nil) }
    guard let object = zoneID.object, let name = object["zoneName"]?.string else {
      throw .badRequest("A zone ID needs a 'zoneName'")
    }
    return (name, (object["ownerRecordName"] ?? object["ownerName"])?.string)
  }

  /// Returns the elements of a required list, within the operation limit. 200 operations are documented [D]; the
  /// emulator applies the limit to every list. [E]
  func items(_ key: String, of body: JSONObject) throws(ServerError) -> [JSONObject] {
    guard let array = body[key]?.array else { throw .badRequest("Missing or invalid '\(key)'") }
    guard array.count <= configuration.operationLimit else {
      throw configuration.exceeded(
        "'\(key)' has \(array.count) elements, more than the maximum of \(configuration.operationLimit)"
      )
    }
    var objects: [JSONObject] = []
    for element in array {
      guard let object = element.object else { throw .badRequest("Unexpected input in '\(key)'") }
      objects.append(object)
    }
    return objects
  }

  /// Returns the page size. Larger values are reduced to the maximum. [L1]
  func pageLimit(_ object: JSONObject, otherwise: JSONObject = [:]) throws(ServerError) -> Int {
    // Limited so that sums cannot overflow.
    let most = min(max(configuration.pageLimit, 1), 1_000_000)
    guard let json = object["resultsLimit"] ?? otherwise["resultsLimit"] else { return most }
    guard let limit = json.integer, limit > 0 else { throw .badRequest("Invalid 'resultsLimit'") }
    return Int(min(limit, Int64(most)))
  }

  /// Returns a set of field names; `nil` means all fields, an empty list none. [C]
  static func names(_ json: JSON?) -> Set<String>? {
    json?.array.map { Set($0.compactMap(\.string)) }
  }

  func json(_ record: StoredRecord, in place: Place, keys: Set<String>?, _ call: Call) -> JSON {
    let type = schemas[place.database.key.schema]?[record.type]
    var encoding = call.encoding
    encoding.asset = { [seal] asset in
      let url = DownloadAddress.text(of: asset, base: call.baseURL, at: call.milliseconds, seal: seal)
      return .joining(asset.json, ["downloadURL": .string(url)])
    }
    let object = record.json(keys: keys, zoneID: place.zone.zoneID, schema: type, encoding: encoding)
    guard !place.zone.shares.isEmpty else { return .object(object) }
    return .object(.joining(object, sharingMembers(of: record, in: place.zone, for: call.caller)))
  }
}
