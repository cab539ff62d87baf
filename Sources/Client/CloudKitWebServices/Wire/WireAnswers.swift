package import JSONText

/// A zone dictionary.
package struct WireZone: Hashable, Sendable, WireObject {
  package var zoneID: WireZoneID
  package var syncToken: String?
  package var atomic: Bool?
  package var deleted: Bool?

  package init(zoneID: WireZoneID) { self.zoneID = zoneID }

  package init() { self.init(zoneID: WireZoneID()) }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("atomic", &atomic)
    try json("deleted", &deleted)
    try json("syncToken", &syncToken)
    try json("zoneID", &zoneID)
  }
}

extension WireZone: WireItem {
  package var id: WireZoneID? { zoneID }
  package consuming func result() -> WireResult<Self> { deleted == true ? .deleted(zoneID) : .item(self) }
}

/// One page of a zone's change feed.
package struct WireZoneChanges: Hashable, Sendable, WireReply {
  package var zoneID = WireZoneID()
  package var records: [WireResult<WireRecord>] = []
  package var syncToken: String?
  /// Whether more changes follow. Null means false (reference 5.7).
  package var moreComing = false

  package init() {}

  package mutating func members(_ json: inout ReadingMembers) throws(JSONError) {
    try json("moreComing", &moreComing, default: false)
    try json("records", &records, default: [])
    try json("syncToken", &syncToken)
    try json("zoneID", &zoneID)
  }
}

extension WireZoneChanges: WireItem {
  package var id: WireZoneID? { zoneID }
  package consuming func result() -> WireResult<Self> { .item(self) }
}

extension WireUserIdentity: WireListed { package static var list: StaticString { "users" } }

/// The current user according to the server. Two forms are in use: flat, and wrapped in `users` (reference 0.2).
package struct WireCaller: Hashable, Sendable, JSONReadable {
  package var userRecordName: String

  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    let object = try JSON(json: &json).object
    let user = object?["userRecordName"] == nil ? object?["users"]?.array?.first?.object : object
    guard let name = user?["userRecordName"]?.string else { throw json.failure("a user without a name", at: start) }
    userRecordName = name
  }
}
