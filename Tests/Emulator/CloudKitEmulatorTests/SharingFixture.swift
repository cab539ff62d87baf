import CloudKitEmulator
import Foundation
import Testing

/// Ana's zone `notes` with a list, two items below it and a note that nobody shares; Berta is known by her address.
struct Shared {
  static let berta = "ckAPIToken=token&ckWebAuthToken=berta@example.org"
  static let carl = "ckAPIToken=token&ckWebAuthToken=carl"

  let fixture: Fixture
  let owner: String

  init(_ configuration: EmulatorConfiguration = EmulatorConfiguration(), path: String? = nil) throws {
    fixture = try Fixture(configuration, path: path)
    owner = try #require(try fixture.post("users/caller", database: "public").object["userRecordName"] as? String)
    for query in [Shared.berta, Shared.carl] { _ = try fixture.post("users/caller", database: "public", query: query) }
    try fixture.createZone("notes")
    _ = try fixture.modify(
      Fixture.save("list", #""title":{"value":"Groceries"}"#),
      Self.item("milk", of: "list"),
      Self.item("oats", of: "milk"),
      Fixture.save("secret")
    )
  }

  static func item(_ name: String, of parent: String, type: String = "forceUpdate", _ fields: String = "") -> String {
    Fixture.save(name, fields, type: type, more: #","parent":{"recordName":"\#(parent)"}"#)
  }

  static func invitation(_ permission: String = "READ_WRITE", email: String = "berta@example.org") -> String {
    #"{"type":"USER","permission":"\#(permission)","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"emailAddress":"\#(email)"}}}"#
  }

  static func tag(_ record: [String: Any]) throws -> String { try #require(record["recordChangeTag"] as? String) }

  /// Shares a record of the zone as its owner does, and returns the answer's element.
  func share(
    _ root: String = "list",
    named name: String = "share-1",
    _ participants: String = Shared.invitation(),
    publicPermission: String = "NONE"
  ) throws -> [String: Any] {
    let tag = try Self.tag(fixture.lookup(root))
    return try fixture.modify(
      #"{"operationType":"create","record":{"recordName":"\#(name)","recordType":"cloudkit.share","fields":{"cloudkit.title":{"value":"Groceries","type":"STRING"}},"forRecord":{"recordName":"\#(root)","recordChangeTag":"\#(tag)"},"publicPermission":"\#(publicPermission)","participants":[\#(participants)]}}"#,
      atomic: true
    )
    .records[0]
  }

  func guid(_ share: String = "share-1") throws -> String {
    try #require(try fixture.lookup(share)["shortGUID"] as? String)
  }

  func ask(_ operation: String, _ guid: String, query: String = Shared.berta, _ more: String = "") throws -> [String:
    Any]
  {
    let body = #"{"shortGUIDs":[{"value":"\#(guid)"\#(more)}]}"#
    let answer = try fixture.post("records/\(operation)", body, database: "public", query: query)
    return try #require((answer.object["results"] as? [[String: Any]])?.first)
  }

  /// Shares the list, and Berta accepts.
  func accepted(_ permission: String = "READ_WRITE") throws -> Shared {
    _ = try share("list", Shared.invitation(permission))
    #expect(try ask("accept", try guid())["participantStatus"] as? String == "ACCEPTED")
    return self
  }

  var zoneID: String { #"{"zoneName":"notes","ownerRecordName":"\#(owner)"}"# }

  func modify(_ operations: String..., query: String = Shared.berta) throws -> Answer {
    let list = operations.joined(separator: ",")
    return try fixture.post(
      "records/modify",
      #"{"zoneID":\#(zoneID),"atomic":false,"operations":[\#(list)]}"#,
      database: "shared",
      query: query
    )
  }

  /// The names of what a participant looks up, or the codes where it is refused.
  func look(_ names: String..., query: String = Shared.berta) throws -> [String] {
    let records = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
    let body = #"{"zoneID":\#(zoneID),"records":[\#(records)]}"#
    let answer = try fixture.post("records/lookup", body, database: "shared", query: query)
    guard answer.status == 200 else { return [answer.code ?? ""] }
    return answer.records.map { $0["serverErrorCode"] as? String ?? $0["recordName"] as? String ?? "" }
  }

  /// One page of a participant's feed: what is there and what is gone, and the token.
  func feed(_ token: String? = nil, query: String = Shared.berta) throws -> (
    there: [String], gone: [String], token: String
  ) {
    let token = token.map { #","syncToken":"\#($0)""# } ?? ""
    let answer = try fixture.post(
      "changes/zone",
      #"{"zones":[{"zoneID":\#(zoneID)\#(token)}]}"#,
      database: "shared",
      query: query
    )
    let zone = try #require(answer.zones.first)
    let records = zone["records"] as? [[String: Any]] ?? []
    let name = { (record: [String: Any]) in record["recordName"] as? String ?? "" }
    return (
      records.filter { $0["deleted"] as? Bool == false }.map(name).sorted(),
      records.filter { $0["deleted"] as? Bool == true }.map(name).sorted(), zone["syncToken"] as? String ?? ""
    )
  }

  /// The zones of a participant's shared database that changed, those gone with a minus, and the token.
  func zones(_ token: String? = nil, query: String = Shared.berta) throws -> (names: [String], token: String) {
    let body = token.map { #"{"syncToken":"\#($0)"}"# } ?? "{}"
    let answer = try fixture.post("changes/database", body, database: "shared", query: query)
    let names = answer.zones.map { zone in
      let zoneID = zone["zoneID"] as? [String: Any]
      #expect(zoneID?["ownerRecordName"] as? String == owner)
      return (zone["deleted"] as? Bool == true ? "-" : "") + (zoneID?["zoneName"] as? String ?? "")
    }
    return (names, try #require(answer.object["syncToken"] as? String))
  }
}
