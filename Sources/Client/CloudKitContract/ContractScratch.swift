import CloudKit
import Foundation
import JSONText

/// The zone of a run and the calls of its checks.
struct ContractScratch: Sendable {
  static let recordType = "CktopContract"
  /// A record type that no schema has.
  static let missingType = "CktopContractMissing"

  let client: WebServicesClient
  let meter: Meter
  let zoneName: String
  let sleep: @Sendable (Duration) async throws -> Void
  /// Why there is no zone; nil once it exists.
  var noZone: String? = ContractScratch.noUser
  /// Why the zone has no records; nil once it has.
  var noRecords: String? = "the record type is not known"
  /// Why queries find no records; nil once they do.
  var noQueries: String? = "queries did not find the records within ten seconds"
  /// The response to a query of `missingType`.
  var missingTypeReply: ContractReply?
  /// Whether the server knew the record type before the run.
  var typeExisted = false
  /// The response to the first write of the record type.
  var firstWrite: ContractReply?

  private static let noUser = "needs a web auth token; the configured credential has no user"

  /// Why a check cannot be made; nil if it can.
  func obstacle(to need: ContractCheck.Need) -> String? {
    switch need {
    case .server: nil
    case .key: key == nil ? "needs a server-to-server key" : nil
    case .user: hasUser ? nil : Self.noUser
    case .zone: noZone
    case .records: noZone ?? noRecords
    case .queries: noZone ?? noRecords ?? noQueries
    }
  }

  var isProduction: Bool { client.configuration.environment == "production" }
  var database: CKDatabase { CKContainer(sharing: client).privateCloudDatabase }
  var zoneID: CKRecordZone.ID { CKRecordZone.ID(zoneName: zoneName) }
  var key: CKServerToServerKey? {
    if case .serverToServerKey(let key) = client.configuration.credential { key } else { nil }
  }

  /// Whether requests are sent as a user of a web auth token.
  var hasUser: Bool {
    if case .webAuth = client.configuration.credential { true } else { false }
  }

  // MARK: - Requests

  /// Posts a JSON text to an operation.
  ///
  /// - Throws: `ContractSkip` if the server asked to wait, `WebServicesError` if no response arrived.
  func post(
    _ operation: String,
    _ body: String = "{}",
    in database: DatabaseName = .private,
    as sender: WebServicesClient? = nil
  ) async throws -> ContractReply {
    let body = try Self.object(body)
    return try await reply { () async throws(WebServicesError) in
      try await (sender ?? client).call(operation, in: database, as: JSON.self) { $0.members(body) }
    }
  }

  func get(_ operation: String, in database: DatabaseName = .private) async throws -> ContractReply {
    try await reply { () async throws(WebServicesError) in try await client.get(operation, in: database) }
  }

  func postToDevice(_ operation: String, _ body: String) async throws -> ContractReply {
    let body = try Self.object(body)
    return try await reply { () async throws(WebServicesError) in
      try await client.call(operation, in: nil) { $0.members(body) }
    }
  }

  private static func object(_ text: String) throws(JSONError) -> JSONObject {
    try JSON(json: Data(text.utf8)).object ?? [:]
  }

  private func reply(_ send: () async throws(WebServicesError) -> JSON) async throws -> ContractReply {
    let reply: ContractReply
    do throws(WebServicesError) {
      reply = ContractReply(try await send().object ?? [:])
    } catch {
      guard error.httpStatus != nil else { throw error }
      reply = ContractReply(error)
    }
    if reply.asksToWait { throw ContractSkip(reason: "the server asked to wait") }
    return reply
  }

  // MARK: - Calls in the zone

  private var zone: String { #""zoneID":{"zoneName":"\#(zoneName)"}"# }

  /// Posts members of an object that names the zone.
  func postInZone(_ operation: String, _ members: String) async throws -> ContractReply {
    try await post(operation, "{\(zone),\(members)}")
  }

  func modify(_ operations: String..., atomic: Bool = false) async throws -> ContractReply {
    try await modify(operations: operations, atomic: atomic)
  }

  func modify(operations: [String], atomic: Bool = false) async throws -> ContractReply {
    try await postInZone("records/modify", #""atomic":\#(atomic),"operations":[\#(operations.joined(separator: ","))]"#)
  }

  /// - Parameter more: members of the request, each after a comma.
  func lookup(_ names: String..., more: String = "") async throws -> ContractReply {
    let records = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
    return try await postInZone("records/lookup", #""records":[\#(records)]\#(more)"#)
  }

  func query(type: String = recordType, filters: [String] = []) async throws -> ContractReply {
    let filters = filters.joined(separator: ",")
    return try await postInZone("records/query", #""query":{"recordType":"\#(type)","filterBy":[\#(filters)]}"#)
  }

  /// Fetches a page of the zone's changes.
  func changes(since token: JSON? = nil) async throws -> ContractReply {
    let token = token.map { #","syncToken":\#($0.text)"# } ?? ""
    return try await post("changes/zone", #"{"zones":[{\#(zone)\#(token)}]}"#)
  }

  private static let mostPages = 5

  /// Fetches the zone's changes from the start: the records and tombstones in the order of the feed.
  func feed() async throws -> [JSONObject] {
    var records: [JSONObject] = []
    var token: JSON?
    for _ in 0..<Self.mostPages {
      let reply = try await changes(since: token)
      guard let page = reply.items.first, let found = page["records"]?.array else {
        throw ContractSkip(reason: "the change feed failed: \(reply.outcome)")
      }
      records += found.compactMap(\.object)
      guard page["moreComing"]?.bool == true else { break }
      token = page["syncToken"]
    }
    return records
  }

  /// Creates or deletes zones.
  func modifyZones(_ type: String, _ names: [String]) async throws -> ContractReply {
    let operations = names.map { name in
      #"{"operationType":"\#(type)","zone":{"zoneID":{"zoneName":\#(JSON.string(name).text)}}}"#
    }
    return try await post("zones/modify", #"{"operations":[\#(operations.joined(separator: ","))]}"#)
  }

  /// - Parameter members: of the subscription, after its ID.
  func subscribe(
    _ id: SubscriptionID,
    _ members: String,
    in database: DatabaseName = .private
  ) async throws -> ContractReply {
    let subscription = #"{"subscriptionID":"\#(id.rawValue)",\#(members)}"#
    return try await post(
      "subscriptions/modify",
      #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#,
      in: database
    )
  }

  /// The IDs of all subscriptions of the checks. They are fixed, so that each run replaces and removes those of a run
  /// that was killed.
  enum SubscriptionID: String, CaseIterable {
    case database = "cktop-contract-database"
    case zone = "cktop-contract-zone"
    case query = "cktop-contract-query"
    case first = "cktop-contract-first"
    case second = "cktop-contract-second"
  }

  /// Deletes all subscriptions of the checks.
  func unsubscribe(in database: DatabaseName) async throws -> ContractReply {
    let operations = SubscriptionID.allCases.map { id in
      #"{"operationType":"delete","subscription":{"subscriptionID":"\#(id.rawValue)"}}"#
    }
    return try await post(
      "subscriptions/modify",
      #"{"operations":[\#(operations.joined(separator: ","))]}"#,
      in: database
    )
  }

  /// Saves a record and returns its change tag.
  func savedTag(_ name: String, _ fields: String = "") async throws -> String {
    let reply = try await modify(.save(name, fields))
    guard let tag = reply.items.first?["recordChangeTag"]?.string else {
      throw ContractSkip(reason: "a record could not be saved: \(reply.outcome)")
    }
    return tag
  }

  func record(_ name: String) -> CKRecord {
    CKRecord(recordType: Self.recordType, recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
  }
}

/// Parts of requests, as JSON.
extension String {
  /// An operation that saves a record of the run's type.
  static func save(
    _ name: String,
    _ fields: String = "",
    _ operation: String = "forceUpdate",
    tag: String? = nil
  ) -> String {
    let tag = tag.map { #","recordChangeTag":\#(JSON.string($0).text)"# } ?? ""
    let type = ContractScratch.recordType
    let record = #"{"recordName":"\#(name)","recordType":"\#(type)","fields":{\#(fields)}\#(tag)}"#
    return #"{"operationType":"\#(operation)","record":\#(record)}"#
  }

  static func delete(_ name: String, _ operation: String = "forceDelete", tag: String? = nil) -> String {
    let tag = tag.map { #","recordChangeTag":\#(JSON.string($0).text)"# } ?? ""
    return #"{"operationType":"\#(operation)","record":{"recordName":"\#(name)"\#(tag)}}"#
  }

  static func filter(_ field: String, _ comparator: String, _ value: String, _ type: String) -> String {
    #"{"fieldName":"\#(field)","comparator":"\#(comparator)","fieldValue":{"value":\#(value),"type":"\#(type)"}}"#
  }
}
