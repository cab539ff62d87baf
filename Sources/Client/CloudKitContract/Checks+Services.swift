import CloudKit
import Foundation
import JSONText

/// Rules of zones, change feeds, subscriptions, assets and push tokens.
extension ContractCheck {
  static let changeRules: [ContractCheck] = [
    .rule("5.5", .documented, .zone, "zones/list has the default zone and the custom zones.") { scratch in
      let reply = try await scratch.get("zones/list")
      let names = Set(reply.items.compactMap { $0["zoneID"]?.object?["zoneName"]?.string })
      return .of(names.isSuperset(of: ["_defaultZone", scratch.zoneName]), came: "a zone is missing")
    },
    .rule("5.5", .assumed, .zone, "A write does not create its zone: ZONE_NOT_FOUND.") { scratch in
      let body = #"{"zoneID":{"zoneName":"\#(scratch.zoneName)-missing"},"operations":[\#(String.save("n"))]}"#
      let reply = try await scratch.post("records/modify", body)
      return .of(reply.code ?? reply.outcome == "ZONE_NOT_FOUND", came: reply.description)
    },
    .rule("5.6", .documented, .zone, "changes/database has a new zone.") { scratch in
      try await scratch.databaseHasZone()
    },
    .rule("5.7", .documented, .records, "Changes come in pages, with deletions, and a token continues them.") {
      try await $0.changesContinue()
    },
    .rule("5.7", .assumed, .records, "A record that changed twice appears once, in its latest state.") { scratch in
      for rank in [-1, -2] { _ = try await scratch.savedTag("changed", #""rank":{"value":\#(rank),"type":"INT64"}"#) }
      let found = try await scratch.feed().filter { $0["recordName"]?.string == "changed" }
      let ranks = found.map { $0.value("rank") }
      return .of(ranks == [.int(-2)], came: "\(found.count) times")
    },
    .rule("5.7", .observed, .user, "The default zone has no change feed: BAD_REQUEST.") { scratch in
      let reply = try await scratch.post("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}}]}"#)
      return .of(reply.code ?? reply.outcome == "BAD_REQUEST", came: reply.description)
    },
  ]

  static let serviceRules: [ContractCheck] = [
    .rule("5.8", .documented, .zone, "A zone subscription can be created and looked up.") { scratch in
      let members = #""subscriptionType":"zone","zoneID":{"zoneName":"\#(scratch.zoneName)"}"#
      let reply = try await scratch.subscribe(.zone, members)
      guard reply.outcome == "ok" else { return .otherwise(reply.description) }
      return try await scratch.lookupSubscription(.zone).judged("ok")
    },
    .rule("5.8", .documented, .user, "A lookup has NOT_FOUND for a missing subscription.") {
      try await $0.lookupSubscription("cktop-contract-missing").judged("NOT_FOUND")
    },
    .rule("5.8", .observed, .records, "Creating a subscription again replaces it.") { scratch in
      let members = ContractScratch.querySubscription(firesOn: "update")
      _ = try await scratch.subscribe(.first, members)
      return try await scratch.subscribe(.first, members).judged("ok")
    },
    .rule("5.8", .observed, .records, "A second subscription to the same changes has INTERNAL_ERROR.") { scratch in
      let members = ContractScratch.querySubscription(firesOn: "update")
      _ = try await scratch.subscribe(.first, members)
      let reply = try await scratch.subscribe(.second, members)
      return .of(reply.code ?? reply.outcome == "INTERNAL_ERROR", came: reply.description)
    },
    .rule("5.9", .inferred, .records, "A file comes back with the bytes that were uploaded.") { scratch in
      try await scratch.saveAsset("asset")
      let read = try await scratch.database.record(for: scratch.record("asset").recordID)
      guard let file = (read["photo"] as? CKAsset)?.fileURL else { return .otherwise("no file") }
      return .of(try Data(contentsOf: file) == ContractScratch.photo, came: "other bytes")
    },
    .rule("5.10", .observed, .user, "tokens/create gives a push token and the URL of the web courier.") { scratch in
      let environment = scratch.client.configuration.environment
      let reply = try await scratch.postToDevice("tokens/create", #"{"apnsEnvironment":"\#(environment)"}"#)
      guard reply.status == 200 else { return .otherwise(reply.description) }
      var findings = Findings()
      for key in ["apnsToken", "webcourierURL"] { findings.expect(reply.body[key]?.string != nil, "no \(key)") }
      return findings.outcome("")
    },
  ]
}

extension ContractScratch {
  static let photo = Data((0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 31) })

  fileprivate func lookupSubscription(_ id: SubscriptionID) async throws -> ContractReply {
    try await lookupSubscription(id.rawValue)
  }

  fileprivate func lookupSubscription(_ id: String) async throws -> ContractReply {
    try await post("subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"\#(id)"}]}"#)
  }

  fileprivate func databaseHasZone() async throws -> ContractOutcome {
    var token: JSON?
    for _ in 0..<5 {
      let reply = try await post("changes/database", token.map { #"{"syncToken":\#($0.text)}"# } ?? "{}")
      guard reply.status == 200 else { return .otherwise(reply.description) }
      if reply.items.contains(where: { $0["zoneID"]?.object?["zoneName"]?.string == zoneName }) { return .asAssumed }
      guard reply.body["moreComing"]?.bool == true else { return .otherwise("the zone is missing") }
      token = reply.body["syncToken"]
    }
    return .notTried("the database has too many changes")
  }

  fileprivate func changesContinue() async throws -> ContractOutcome {
    let database = database
    var token: CKServerChangeToken?
    var more = true
    while more {
      let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
      (token, more) = (page.changeToken, page.moreComing)
    }
    let notes = (0..<7).map { record("page-\($0)") }
    _ = try await database.modifyRecords(saving: notes, deleting: [])
    var (seen, pages) = (Set<String>(), 0)
    more = true
    while more, pages < 9 {
      let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token, resultsLimit: 3)
      seen.formUnion(page.modificationResultsByID.keys.map(\.recordName))
      (token, more) = (page.changeToken, page.moreComing)
      pages += 1
    }
    try await database.deleteRecord(withID: notes[3].recordID)
    let last = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)

    var findings = Findings()
    findings.expect(seen == Set(notes.map(\.recordID.recordName)), "the records of the pages")
    findings.expect(pages > 1, "one page for seven records, with a limit of three")
    findings.expect(last.deletions.map(\.recordID) == [notes[3].recordID], "the deletion")
    findings.expect(last.modificationResultsByID.isEmpty, "changes after the token")
    return findings.outcome()
  }
}
