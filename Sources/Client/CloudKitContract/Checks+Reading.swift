import CloudKit
import JSONText

/// Assumptions about reading, zones, users and assets.
extension ContractCheck {
  static let readingAssumptions: [ContractCheck] = [
    .assumption("unsortedOrder", 16, .queries, "A query without a sort returns records in the order of their names.") {
      let reply = try await $0.query(filters: [.filter("rank", "GREATER_THAN", "0", "INT64")])
      return .of(reply.names == ["q-a", "q-b", "q-c"], came: "order: \(reply.names.joined(separator: ", "))")
    },
    .assumption("changesOrder", 16, .records, "A page of changes has the oldest change first.") { scratch in
      let names = try await scratch.feed().compactMap { $0["recordName"]?.string }.filter { $0.hasPrefix("q-") }
      return .of(names == ["q-b", "q-a", "q-c"], came: "order: \(names.joined(separator: ", "))")
    },
    .assumption("nearDistance", 17, .queries, "NEAR without a distance has no limit.") { scratch in
      let place = #"{"latitude":59.9,"longitude":10.7}"#
      return try await scratch.finds(["q-a", "q-b"], .filter("place", "NEAR", place, "LOCATION"))
    },
    .assumption("comparesTextIgnoringCase", 17, .queries, "A filter on a string compares its case.") {
      try await $0.finds(["q-a"], .filter("text", "EQUALS", #""milk""#, "STRING"))
    },
    .assumption("negationsMatchNull", 17, .queries, "NOT_EQUALS does not match a record without the field.") {
      try await $0.finds(["q-a", "q-b"], .filter("text", "NOT_EQUALS", #""tea""#, "STRING"))
    },
    .assumption("emptySyncToken", 12, .zone, "An empty sync token is refused.") { scratch in
      let reply = try await scratch.changes(since: .string(""))
      return .of(reply.code != nil || reply.items.first?.code != nil, came: "the feed started over")
    },
    .assumption("expiredSyncToken", 13, .zone, "A foreign sync token has BAD_REQUEST for its zone.") { scratch in
      // The token of the database is no token of the zone.
      let token = try await scratch.post("changes/database").body["syncToken"]
      guard let token else { return .notTried("the database has no sync token") }
      return try await scratch.changes(since: token).judged("BAD_REQUEST")
    },
  ]

  static let zoneAssumptions: [ContractCheck] = [
    .assumption("callerEnvelope", 9, .user, "users/caller returns the identity, and a list that contains it.") {
      let reply = try await $0.get("users/caller", in: .public)
      let keys = ["userRecordName", "users"].filter { reply.body[$0] != nil }
      guard reply.status == 200 else { return .otherwise(reply.description) }
      return .of(keys.count == 2, came: "keys: \(keys.joined(separator: ", "))")
    },
    .assumption("rereferenceWrapper", 10, .records, "The list of assets/rereference has the key assets.") { scratch in
      try await scratch.saveAsset("original")
      let place = #"{"recordName":"original","fieldName":"photo"}"#
      let reply = try await scratch.postInZone("assets/rereference", #""assets":[\#(place)]"#)
      guard reply.status == 200 else { return .otherwise(reply.description) }
      let keys = reply.body.members.filter { $0.value.array != nil }.map(\.key)
      return .of(keys == ["assets"], came: "keys: \(keys.joined(separator: ", "))")
    },
    .assumption("existingZone", 11, .zone, "Creating a zone that exists succeeds.") {
      try await $0.modifyZones("create", [$0.zoneName]).judged("ok")
    },
    .assumption("missingZone", 11, .zone, "Deleting a zone that does not exist has ZONE_NOT_FOUND.") {
      try await $0.modifyZones("delete", ["\($0.zoneName)-missing"]).judged("ZONE_NOT_FOUND")
    },
    .untestable(
      "defaultZoneDeletion",
      11,
      "Deleting the default zone has BAD_REQUEST.",
      because: "a server that allows it would delete the user's records"
    ),
    .untestable(
      "zoneLimit",
      22,
      "A private database can have any number of zones.",
      because: "a run creates one zone"
    ),
    .assumption("listLimit", 22, .records, "A list can have 2,000 elements.") { scratch in
      let elements = (0..<2000).map(String.init).joined(separator: ",")
      let field = #""numbers":{"value":[\#(elements)],"type":"INT64_LIST"}"#
      return try await scratch.modify(.save("list", field)).judged("ok")
    },
    .assumption("filterLimit", 22, .queries, "A query can have 30 filters.") { scratch in
      let filters = (0..<30).map { String.filter("rank", "GREATER_THAN", "\(-$0)", "INT64") }
      return try await scratch.succeeds(scratch.query(filters: filters))
    },
  ]

  static let subscriptionAssumptions: [ContractCheck] = [
    .assumption("acceptsDatabaseSubscriptions", 18, .user, "Database subscriptions are accepted.") {
      try await $0.subscribe(.database, #""subscriptionType":"database""#).judged("ok")
    },
    .assumption("acceptsSharedSubscriptions", 18, .user, "The shared database accepts subscriptions.") { scratch in
      let members = #""subscriptionType":"database""#
      guard try await scratch.subscribe(.database, members).outcome == "ok" else {
        return .notTried("database subscriptions are refused, and other kinds need a shared zone")
      }
      return try await scratch.subscribe(.database, members, in: .shared).judged("ok")
    },
    .untestable(
      "subscriptionLimit",
      22,
      "A user can have any number of subscriptions.",
      because: "a run creates too few subscriptions to reach a limit"
    ),
    .assumption(
      "subscriptionsAreZoneWide",
      23,
      .records,
      "A query subscription without zoneWide does not cover all zones."
    ) { scratch in
      let reply = try await scratch.subscribe(.query, ContractScratch.querySubscription(firesOn: "delete"))
      guard reply.outcome == "ok" else { return .otherwise(reply.description) }
      return .of(reply.items.first?["zoneWide"]?.bool != true, came: "zoneWide is true")
    },
    .untestable(
      "uninvited",
      19,
      "A share that does not invite the user has NOT_FOUND.",
      because: "needs another user who shares a record"
    ),
    .untestable(
      "participantsLeaveByDeletingShares",
      19,
      "A participant leaves a share by deleting it.",
      because: "needs another user who shares a record"
    ),
  ]
}

extension ContractScratch {
  /// Compares the names that a query finds, in any order.
  func finds(_ names: Set<String>, _ filter: String) async throws -> ContractOutcome {
    let reply = try await query(filters: [filter])
    guard reply.status == 200 else { return .otherwise(reply.description) }
    return .of(Set(reply.names) == names, came: "found: \(reply.names.sorted().joined(separator: ", "))")
  }

  static func querySubscription(firesOn event: String) -> String {
    let query = #""query":{"recordType":"\#(recordType)","filterBy":[]}"#
    return #""subscriptionType":"query",\#(query),"firesOn":["\#(event)"]"#
  }

  /// Saves a record with a file in its field `photo`.
  func saveAsset(_ name: String) async throws {
    let record = record(name)
    record["photo"] = try CKAsset(contents: Self.photo)
    try await database.save(record)
  }
}
