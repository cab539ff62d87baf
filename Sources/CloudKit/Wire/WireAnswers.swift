/// One element of `records[]`: a record, a deletion, or an error.
package enum WireRecordResult: Hashable, Sendable {
  case record(WireRecord)
  /// A deletion. The server sends the type of few deleted records.
  case deleted(recordName: String, recordType: String? = nil)
  /// An error. The name is missing if the server never assigned one; then the element's index identifies the record.
  case failure(recordName: String?, WebServicesError)

  /// The record's name, if known.
  package var recordName: String? {
    switch self {
    case .record(let record): record.recordName
    case .deleted(let name, _): name
    case .failure(let name, _): name
    }
  }
}

extension WireRecordResult: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    guard let record = try WireRecord.unlessFailure(&json) else {
      json.offset = start
      let failure = try WireItemError(json: &json)
      self = .failure(recordName: failure.recordName, failure.error)
      return
    }
    if record.deleted {
      self = .deleted(recordName: record.recordName, recordType: record.recordType)
    } else if let misfit = record.misfit {
      self = .failure(recordName: record.recordName, misfit)
    } else {
      self = .record(record)
    }
  }
}

extension WireRecord {
  /// The error of a record with a value that does not fit its type. Such a record must not replace a known one.
  fileprivate var misfit: WebServicesError? {
    guard fields.values.contains(where: { $0.misfitType != nil }) else { return nil }
    let names = fields.filter { $0.value.misfitType != nil }.keys.sorted()
    let (name, type) = (names[0], fields[names[0]]?.misfitType ?? "")
    return WebServicesError(
      .unexpectedServerResponse,
      "the value of field '\(WebServicesError.bounded(name, 100))' does not fit its type \(type)",
      effect: .unknown
    )
  }
}

/// A zone with its state, or an error.
package enum WireZoneResult: Hashable, Sendable {
  case zone(WireZone)
  case failure(WireZoneID?, WebServicesError)
}

extension WireZoneResult: Decodable {
  package init(from decoder: any Decoder) throws {
    if let failure = try WireItemError(ifPresentIn: decoder) {
      self = .failure(failure.zoneID, failure.error)
    } else {
      self = .zone(try WireZone(from: decoder))
    }
  }
}

/// A zone dictionary.
package struct WireZone: Hashable, Sendable, Codable {
  package var zoneID: WireZoneID
  package var syncToken: String?
  package var atomic: Bool?
  package var deleted: Bool?

  package init(zoneID: WireZoneID) { self.zoneID = zoneID }
}

/// One page of a zone's change feed.
package struct WireZoneChanges: Hashable, Sendable {
  package var zoneID: WireZoneID
  package var records: [WireRecordResult]
  package var syncToken: String?
  package var moreComing: Bool
}

/// A page of a zone's changes, or an error.
package enum WireZoneChangesResult: Hashable, Sendable {
  case changes(WireZoneChanges)
  case failure(WireZoneID?, WebServicesError)
}

extension WireZoneChangesResult: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var zoneID: WireZoneID?
    var records: [WireRecordResult]?
    var syncToken: String?
    var moreComing: Bool?
    var errorCode: String?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "zoneID": try json.read(into: &zoneID)
      case "records": try json.read(into: &records)
      case "syncToken": try json.read(into: &syncToken)
      case "moreComing": try json.read(into: &moreComing)
      case "serverErrorCode": try json.read(into: &errorCode)
      default: try json.skip()
      }
    }
    guard errorCode == nil else {
      json.offset = start
      let failure = try WireItemError(json: &json)
      self = .failure(failure.zoneID, failure.error)
      return
    }
    guard let zoneID else { throw json.failure("zone changes without a zone", at: start) }
    // `moreComing` may be null, which means false (reference 5.7).
    self = .changes(
      WireZoneChanges(zoneID: zoneID, records: records ?? [], syncToken: syncToken, moreComing: moreComing ?? false)
    )
  }
}

extension WireZoneChangesResult {
  /// The zone that it names.
  var zoneID: WireZoneID? {
    switch self {
    case .changes(let page): page.zoneID
    case .failure(let id, _): id
    }
  }

  /// Whether it is the page of a zone. Only one of request and reply may name the owner.
  func isPage(of zone: WireZoneID) -> Bool {
    guard let id = zoneID, id.zoneName == zone.zoneName else { return false }
    return id.ownerRecordName == nil || zone.ownerRecordName == nil || id.ownerRecordName == zone.ownerRecordName
  }
}

/// The pages of the requested zones.
package struct WireZonesChanges: Hashable, Sendable, JSONReadable {
  package var zones: [WireZoneChangesResult]

  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var zones: [WireZoneChangesResult]?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "zones": try json.read(into: &zones)
      default: try json.skip()
      }
    }
    guard let zones else { throw json.failure("a reply without zones", at: start) }
    self.zones = zones
  }
}

/// One page of a query, or the result of a lookup or modify.
package struct WireRecords: Hashable, Sendable, JSONReadable {
  package var records: [WireRecordResult]
  package var continuationMarker: String?

  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var records: [WireRecordResult]?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "records": try json.read(into: &records)
      case "continuationMarker": try json.read(into: &continuationMarker)
      default: try json.skip()
      }
    }
    guard let records else { throw json.failure("a reply without records", at: start) }
    self.records = records
  }
}

/// The zones changed since a database token.
package struct WireDatabaseChanges: Hashable, Sendable {
  package var zones: [WireZoneResult]
  package var syncToken: String?
  package var moreComing: Bool
}

extension WireDatabaseChanges: Decodable {
  private enum Key: String, CodingKey { case zones, syncToken, moreComing }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    zones = try container.decodeIfPresent([WireZoneResult].self, forKey: .zones) ?? []
    syncToken = try container.decodeIfPresent(String.self, forKey: .syncToken)
    moreComing = try container.decodeIfPresent(Bool.self, forKey: .moreComing) ?? false
  }
}

/// The current user according to the server. Two forms are in use: flat, and wrapped in `users` (reference 0.2).
package struct WireCaller: Hashable, Sendable, Decodable {
  package var userRecordName: String

  private enum Key: String, CodingKey { case userRecordName, users }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    if let name = try container.decodeIfPresent(String.self, forKey: .userRecordName) {
      userRecordName = name
    } else {
      var users = try container.nestedUnkeyedContainer(forKey: .users)
      let user = try users.nestedContainer(keyedBy: Key.self)
      userRecordName = try user.decode(String.self, forKey: .userRecordName)
    }
  }
}

/// An error dictionary, for one item or for the whole request.
struct WireItemError: JSONReadable, Decodable {
  var recordName: String?
  var zoneID: WireZoneID?
  var error: WebServicesError

  init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var code: String?
    var reason: String?
    error = WebServicesError(.unexpectedServerResponse, "")
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "recordName": try json.read(into: &recordName)
      case "zoneID": try json.read(into: &zoneID)
      case "serverErrorCode": try json.read(into: &code)
      case "reason": try json.read(into: &reason)
      case "retryAfter": try json.read(into: &error.retryAfter)
      case "redirectURL": try json.read(into: &error.redirectURL)
      case "uuid": try json.read(into: &error.uuid)
      default: try json.skip()
      }
    }
    guard let code else { throw json.failure("an error without a code", at: start) }
    error.code = ServerErrorCode(code)
    error.reason = reason ?? ""
  }

  private enum Key: String, CodingKey { case serverErrorCode }

  /// Nil if the element is not an error.
  init?(ifPresentIn decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    guard try container.decodeIfPresent(String.self, forKey: .serverErrorCode) != nil else { return nil }
    try self.init(from: decoder)
  }
}
