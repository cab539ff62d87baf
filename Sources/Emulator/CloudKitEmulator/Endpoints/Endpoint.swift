import CloudKitSchema
import JSONText

/// One call, as its endpoint sees it. Endpoints read the state and decide; they change nothing, except that
/// `World.database` keeps a new database for the commit.
///
/// A class, because the closures of decisions and answers capture it.
final class Endpoint {
  let call: Call
  let world: World
  /// The caller's record name; empty if anonymous.
  let user: String
  /// The key of the database that stores what belongs to the call's database. For the shared database, that is the
  /// user's private one.
  let home: DatabaseKey
  /// The permissions of a call in the public database; `nil` in other databases, where ownership and shares decide. [D]
  let guards: SchemaGuard?

  init(_ call: Call, _ world: World) {
    (self.call, self.world, user) = (call, world, call.caller.recordName ?? "")
    home = call.route.key(owner: call.route.scope == .public ? nil : user)
    guards = call.route.scope == .public ? world.guards(of: user.isEmpty ? nil : user) : nil
  }

  var configuration: EmulatorConfiguration { world.configuration }
  var assumptions: EmulatorAssumptions { configuration.assumptions }
  var seed: UInt64 { world.seed }

  /// The work to do for a call.
  enum Plan {
    /// Nothing but this answer.
    case answer(JSONObject)
    case decision(Decision)
    /// One decision after the other, each on the state that the earlier ones left; their answers make a list.
    case each(String, [() -> Decision])
  }

  /// Returns the plan for the call.
  func plan() throws(ServerError) -> Plan {
    // Observed wording. [L3]
    guard call.route.operation.scopes.contains(call.route.scope) else {
      throw .badRequest("endpoint not applicable in the database type '\(call.route.scope.rawValue)db'")
    }
    if configuration.rejectsUnknownKeys { try RequestKeys.check(call.body, of: call.route.operation) }
    return switch call.route.operation {
    case .recordsQuery: .answer(try query())
    case .recordsLookup: .answer(try lookup())
    case .recordsModify: .decision(try modify())
    case .recordsChanges: .answer(try recordChanges())
    case .recordsResolve: .each("results", try resolveShares())
    case .recordsAccept: .each("results", try acceptShares())
    case .zonesList: .answer(listZones())
    case .zonesLookup: .answer(try lookupZones())
    case .zonesModify: .each("zones", try modifyZones())
    case .zonesChanges: .answer(try legacyZoneChanges())
    case .changesDatabase: .answer(try databaseChanges())
    case .changesZone: .answer(try zoneChanges())
    case .assetsUpload: .decision(try uploadAssets())
    case .assetsRereference: .decision(try rereferenceAssets())
    case .subscriptionsList: .answer(listSubscriptions())
    case .subscriptionsLookup: .answer(try lookupSubscriptions())
    case .subscriptionsModify: .each("subscriptions", try modifySubscriptions())
    case .tokensCreate: .decision(try createToken())
    case .tokensRegister: .decision(try registerToken())
    case .usersCaller: .answer(try caller())
    case .usersCurrent: .answer(try currentUser())
    case .usersDiscover: .answer(try discoverUsers())
    case .usersLookupEmail, .usersLookupID: .answer(try lookupUsers())
    case .usersLookupContacts: .answer(try lookupContacts())
    }
  }

  /// Adds the zone's sync token to the answer of a record operation.
  func completed(_ answer: JSONObject) -> JSONObject {
    // A caller who has just left a share can no longer see the zone.
    guard call.wantsSyncToken, let zone = try? view(of: call.body["zoneID"]).zone, zone.isCustom else { return answer }
    return .joining(answer, ["syncToken": .string(zone.token.text)])
  }

  /// The database of the call. The shared database has no state of its own: its zones are in the databases of other
  /// users. [D]
  var database: DatabaseState { world.database(home) }

  /// The schema of the call's container; `nil` if there is none yet.
  var schema: CKSchema? { world.schemas[call.route.schema] }

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
  func items(_ key: String) throws(ServerError) -> [JSONObject] {
    guard let array = call.body[key]?.array else { throw .badRequest("Missing or invalid '\(key)'") }
    guard array.count <= configuration.operationLimit else {
      throw configuration.exceeded(
        "'\(key)' has \(array.count) elements, more than the maximum of \(configuration.operationLimit)"
      )
    }
    return try array.map { (element) throws(ServerError) in
      guard let object = element.object else { throw .badRequest("Unexpected input in '\(key)'") }
      return object
    }
  }

  /// Returns the page size. Larger values are reduced to the maximum. [L1]
  func pageLimit(_ object: JSONObject = [:]) throws(ServerError) -> Int {
    // Limited so that sums cannot overflow.
    let most = min(max(configuration.pageLimit, 1), 1_000_000)
    guard let json = object["resultsLimit"] ?? call.body["resultsLimit"] else { return most }
    guard let limit = json.integer, limit > 0 else { throw .badRequest("Invalid 'resultsLimit'") }
    return Int(min(limit, Int64(most)))
  }

  /// Returns a set of field names; `nil` means all fields, an empty list none. [C]
  static func names(_ json: JSON?) -> Set<String>? {
    json?.array.map { Set($0.compactMap(\.string)) }
  }

  /// Returns an encoder for the records of one answer. It keeps the schema, so it is made after the commit.
  ///
  /// - Parameter encoding: The encoding of field values; by default that of the request.
  func encoder(_ encoding: FieldEncoding? = nil) -> RecordEncoder {
    var encoding = encoding ?? call.encoding
    encoding.encryptedType = configuration.assumptions.encryptedType
    encoding.asset = { [base = call.baseURL, time = call.milliseconds, seal = world.seal] asset in
      let url = DownloadAddress.text(of: asset, base: base, at: time, seal: seal)
      return .joining(asset.json, ["downloadURL": .string(url)])
    }
    return RecordEncoder(endpoint: self, schema: schema, encoding: encoding)
  }
}

/// Makes the dictionaries of records in one answer.
struct RecordEncoder {
  fileprivate let endpoint: Endpoint
  let schema: CKSchema?
  fileprivate let encoding: FieldEncoding

  func json(_ record: StoredRecord, in view: ZoneView, keys: Set<String>?) -> JSONObject {
    let type = schema?[record.type]
    let object = record.json(keys: keys, zoneID: view.zone.zoneID, schema: type, encoding: encoding)
    guard !view.zone.shares.isEmpty else { return object }
    return .joining(object, endpoint.sharingMembers(of: record, in: view.zone))
  }
}
