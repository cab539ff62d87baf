import CloudKitSchema
import Foundation
import JSONText

/// A sync token of a user's shared database. The shared database has no history of its own, so the token lists its
/// zones with their change counters. A zone that is missing later was removed. [E]
struct SharedToken {
  private(set) var zones: [String: Int64] = [:]

  init() {}

  init(_ views: [ZoneView]) {
    for view in views { add(view) }
  }

  mutating func add(_ view: ZoneView) {
    zones[Self.key(view)] = view.zone.changed
  }

  mutating func remove(_ key: String) {
    zones[key] = nil
  }

  /// Whether the zone has changed since the token.
  func isBehind(_ view: ZoneView) -> Bool {
    zones[Self.key(view)].map { $0 < view.zone.changed } ?? true
  }

  /// Returns the key of a zone: its owner, name and identity. A zone that is recreated has another key.
  static func key(_ view: ZoneView) -> String {
    "\(view.zone.owner)/\(view.zone.name)/\(String(view.zone.identity, radix: 36))"
  }

  /// Returns the zone ID of a zone that the caller can no longer see.
  static func zoneID(_ key: String) -> JSON {
    let parts = key.split(separator: "/", omittingEmptySubsequences: false)
    let name = parts.dropFirst().dropLast().joined(separator: "/")
    return .object(["zoneName": .string(name), "ownerRecordName": .string(String(parts.first ?? ""))])
  }

  var text: String {
    var object = JSONObject()
    for (key, changed) in zones.sorted(by: { $0.key < $1.key }) { object.append(key, .int(changed)) }
    return JSON.object(["shared": .object(object)]).data.base64EncodedString()
  }

  /// Decodes a token that a client sent.
  ///
  /// - Throws: The errors of `SyncToken`.
  init(_ json: JSON, assumptions: EmulatorAssumptions) throws(ServerError) {
    if json == .string(""), assumptions.emptySyncToken == .startsOver { return }
    guard let data = json.string.flatMap({ Data(base64Encoded: $0) }) else {
      throw SyncToken.refusal("Invalid continuation format", assumptions)
    }
    guard let object = (try? JSON(json: data))?.object?["shared"]?.object else {
      throw SyncToken.expired(assumptions)
    }
    for member in object.members { zones[member.key] = member.value.integer }
  }
}

extension Endpoint {
  /// Returns the response of `changes/database` in the shared database: the zones that were added, changed or removed.
  /// [D]
  func sharedChanges() throws(ServerError) -> JSONObject {
    if call.faults.expiresTokens, call.body["syncToken"] != nil { throw SyncToken.expired(assumptions) }
    var token = SharedToken()
    if let json = call.body["syncToken"] { token = try SharedToken(json, assumptions: assumptions) }
    let sent = token
    let views = views()
    let here = Set(views.map(SharedToken.key))
    let gone = token.zones.keys.filter { !here.contains($0) }.sorted()
    let changed = views.filter(token.isBehind)
    let limit = call.faults.emptiesPages ? 0 : try pageLimit()
    var zones: [JSON] = []
    for key in gone.prefix(limit) {
      token.remove(key)
      zones.append(.object(["zoneID": SharedToken.zoneID(key), "deleted": .bool(true)]))
    }
    for view in changed.prefix(limit - zones.count) {
      token.add(view)
      zones.append(.object(view.zone.summary))
    }
    if call.faults.stallsMarkers { token = sent }
    let moreComing =
      call.faults.emptiesPages || call.faults.stallsMarkers || zones.count < gone.count + changed.count
    return ["zones": .array(zones), "syncToken": .string(token.text), "moreComing": .bool(moreComing)]
  }
}
