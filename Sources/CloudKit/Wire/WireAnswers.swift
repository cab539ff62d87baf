package import JSONText

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

extension WireZoneResult {
  /// The zone, if it is named.
  var zoneID: WireZoneID? {
    switch self {
    case .zone(let zone): zone.zoneID
    case .failure(let id, _): id
    }
  }
}

extension WireZoneResult: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    if let failure = try WireItemError(ifPresent: &json) {
      self = .failure(failure.zoneID, failure.error)
    } else {
      self = .zone(try WireZone(json: &json))
    }
  }
}

/// A zone dictionary.
package struct WireZone: Hashable, Sendable, Codable, JSONReadable {
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

/// A reply that is one list.
package struct WireList<Element: WireListElement>: JSONReadable, Sendable {
  package var elements: [Element]

  package init(json: inout JSONReader) throws(JSONError) {
    // The documentation shows one of the lists bare (reference 5.9).
    if json.peek() == UInt8(ascii: "[") {
      elements = try [Element](json: &json)
      return
    }
    let start = json.offset
    var elements: [Element]?
    try json.enterObject()
    while let key = try json.nextKey() {
      if Element.list ~= key { try json.read(into: &elements) } else { try json.skip() }
    }
    guard let elements else { throw json.failure("a reply without \(Element.list)", at: start) }
    self.elements = elements
  }
}

/// An element of a list that is a whole reply.
package protocol WireListElement: JSONReadable, Sendable {
  /// The key of the list.
  static var list: StaticString { get }
}

extension WireZoneChangesResult: WireListElement { package static var list: StaticString { "zones" } }
extension WireShareResult: WireListElement { package static var list: StaticString { "results" } }
extension WireSubscriptionResult: WireListElement { package static var list: StaticString { "subscriptions" } }
extension WireUserIdentity: WireListElement { package static var list: StaticString { "users" } }

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

/// A page of the zones of a database, or of those changed since a database token.
package struct WireDatabaseChanges: Hashable, Sendable, JSONReadable {
  package var zones: [WireZoneResult]
  package var syncToken: String?
  package var moreComing: Bool
  private let hasZones: Bool

  package init(json: inout JSONReader) throws(JSONError) {
    var zones: [WireZoneResult]?
    var moreComing: Bool?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "zones": try json.read(into: &zones)
      case "syncToken": try json.read(into: &syncToken)
      case "moreComing": try json.read(into: &moreComing)
      default: try json.skip()
      }
    }
    self.zones = zones ?? []
    self.moreComing = moreComing ?? false
    hasZones = zones != nil
  }

  /// The zones of a reply that must list them: a missing list must not pass for an empty one.
  var listedZones: [WireZoneResult] {
    get throws(WebServicesError) {
      guard !hasZones else { return zones }
      throw WebServicesError(.unexpectedServerResponse, "the reply has no list of zones", effect: .unknown)
    }
  }
}

/// A reply whose elements may be errors, which have no identifier but that of the request.
protocol WireItems {
  /// Returns the reply with the identifier of the request in each error.
  func naming(request id: String) -> Self
}

extension WireRecords: WireItems {
  func naming(request id: String) -> Self {
    var reply = self
    for (place, element) in records.enumerated() {
      guard case .failure(let name, var error) = element else { continue }
      error.uuid = error.uuid ?? id
      reply.records[place] = .failure(recordName: name, error)
    }
    return reply
  }
}

extension WireDatabaseChanges: WireItems {
  func naming(request id: String) -> Self {
    var reply = self
    for (place, element) in zones.enumerated() {
      guard case .failure(let zone, var error) = element else { continue }
      error.uuid = error.uuid ?? id
      reply.zones[place] = .failure(zone, error)
    }
    return reply
  }
}

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

/// An error dictionary, for one item or for the whole request.
struct WireItemError: JSONReadable {
  var recordName: String?
  var zoneID: WireZoneID?
  var subscriptionID: String?
  var error: WebServicesError

  init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    guard let error = try Self(ifPresent: &json) else { throw json.failure("an error without a code", at: start) }
    self = error
  }

  /// Reads an error; nil, without consuming anything, if the element has no error code.
  init?(ifPresent json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    var code: String?
    var reason: String?
    error = WebServicesError(.unexpectedServerResponse, "")
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "recordName": try json.read(into: &recordName)
      case "zoneID": try json.read(into: &zoneID)
      case "subscriptionID": try json.read(into: &subscriptionID)
      case "serverErrorCode": try json.read(into: &code)
      case "reason": try json.read(into: &reason)
      case "retryAfter": try json.read(into: &error.retryAfter)
      case "redirectURL": try json.read(into: &error.redirectURL)
      case "uuid": try json.read(into: &error.uuid)
      default: try json.skip()
      }
    }
    guard let code else {
      json.offset = start
      return nil
    }
    error.code = ServerErrorCode(code)
    error.reason = reason ?? ""
  }
}
