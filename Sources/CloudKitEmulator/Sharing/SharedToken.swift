import Foundation

/// A point in the history of a user's shared database, which has no history of its own: the zones that were there, each
/// at its point. What is missing later has been taken away. [E]
struct SharedToken {
  private(set) var zones: [String: Int64] = [:]

  init() {}

  init(_ places: [Place]) {
    for place in places { add(place) }
  }

  mutating func add(_ place: Place) {
    zones[Self.key(place)] = place.zone.changed
  }

  mutating func remove(_ key: String) {
    zones[key] = nil
  }

  /// Whether a zone has changed since.
  func isBehind(_ place: Place) -> Bool {
    zones[Self.key(place)].map { $0 < place.zone.changed } ?? true
  }

  /// A zone by its owner and name; its namesake after a deletion is another one.
  static func key(_ place: Place) -> String {
    "\(place.zone.owner)/\(place.zone.name)/\(String(place.zone.identity, radix: 36))"
  }

  /// The zone ID of a zone that is out of sight.
  static func zoneID(_ key: String) -> JSON {
    let parts = key.split(separator: "/", omittingEmptySubsequences: false)
    let name = parts.dropFirst().dropLast().joined(separator: "/")
    return .object(["zoneName": .string(name), "ownerRecordName": .string(String(parts.first ?? ""))])
  }

  var text: String {
    var object = JSONObject()
    for (key, changed) in zones.sorted(by: { $0.key < $1.key }) { object.append(key, .int(changed)) }
    return JSONWriter.data(.object(["shared": .object(object)])).base64EncodedString()
  }

  /// Reads a token that a client sent back.
  ///
  /// - Throws: the refusals of `SyncToken`.
  init(_ json: JSON, assumptions: EmulatorAssumptions) throws(ServerError) {
    if json == .string(""), assumptions.emptySyncToken == .startsOver { return }
    guard let data = json.string.flatMap({ Data(base64Encoded: $0) }) else {
      throw SyncToken.refusal("Invalid continuation format", assumptions)
    }
    guard let object = (try? JSONParser.parse(data))?.object?["shared"]?.object else {
      throw SyncToken.expired(assumptions)
    }
    for member in object.members { zones[member.key] = member.value.integer }
  }
}

extension EmulatorCore {
  /// `changes/database` of the shared database: zones that came, changed and went. [D]
  func sharedChanges(_ call: Call) throws(ServerError) -> JSONObject {
    let assumptions = configuration.assumptions
    if call.faults.expiresTokens, call.body["syncToken"] != nil { throw SyncToken.expired(assumptions) }
    var token = SharedToken()
    if let json = call.body["syncToken"] { token = try SharedToken(json, assumptions: assumptions) }
    let sent = token
    let places = places(for: call)
    let here = Set(places.map(SharedToken.key))
    let gone = token.zones.keys.filter { !here.contains($0) }.sorted()
    let changed = places.filter(token.isBehind)
    let limit = call.faults.emptiesPages ? 0 : try pageLimit(call.body)
    var zones: [JSON] = []
    for key in gone.prefix(limit) {
      token.remove(key)
      zones.append(.object(["zoneID": SharedToken.zoneID(key), "deleted": .bool(true)]))
    }
    for place in changed.prefix(limit - zones.count) {
      token.add(place)
      zones.append(.object(place.zone.summary))
    }
    if call.faults.stallsMarkers { token = sent }
    let moreComing =
      call.faults.emptiesPages || call.faults.stallsMarkers || zones.count < gone.count + changed.count
    return ["zones": .array(zones), "syncToken": .string(token.text), "moreComing": .bool(moreComing)]
  }
}
