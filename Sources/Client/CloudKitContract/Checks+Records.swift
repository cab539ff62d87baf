import CloudKit
import Foundation
import JSONText

/// Rules of queries, lookups and writes.
extension ContractCheck {
  static let recordRules: [ContractCheck] = [
    .rule("5.1", .documented, .queries, "A query filters, sorts, and continues from its marker to the end.") {
      try await $0.queryContinues()
    },
    .rule("5.1", .documented, .queries, "IN matches the elements of its list.") {
      try await $0.finds(["q-a", "q-c"], .filter("rank", "IN", "[2,3,9]", "INT64_LIST"))
    },
    .rule("5.2", .documented, .records, "A lookup has NOT_FOUND for a missing record, beside those it found.") {
      try await $0.lookup("kept", "gone").judged("ok, NOT_FOUND")
    },
    .rule("5.2", .assumed, .zone, "A lookup in a missing zone has HTTP 404 and ZONE_NOT_FOUND.") {
      let missing = #"{"zoneName":"\#($0.zoneName)-missing"}"#
      return try await $0.post("records/lookup", #"{"zoneID":\#(missing),"records":[{"recordName":"gone"}]}"#)
        .judged("HTTP 404 ZONE_NOT_FOUND")
    },
    .rule("5.3", .documented, .records, "A create of a record that exists has EXISTS.") {
      try await $0.modify(.save("kept", "", "create")).judged("EXISTS")
    },
    .rule("5.3", .documented, .records, "forceUpdate keeps the fields that it leaves out, forceReplace clears them.") {
      try await $0.fieldsLeftOut()
    },
    .rule("5.3", .documented, .records, "A null value clears its field.") { scratch in
      _ = try await scratch.savedTag("null", #""text":{"value":"a","type":"STRING"}"#)
      _ = try await scratch.savedTag("null", #""text":{"value":null}"#)
      return .of(try await scratch.lookup("null").items.first?.value("text") == nil, came: "the field has a value")
    },
    .rule("5.3", .assumed, .records, "A delete of a missing record has NOT_FOUND.") {
      try await $0.modify(.delete("gone", "delete", tag: "1")).judged("NOT_FOUND")
    },
    .rule("5.3", .assumed, .records, "A record name that was deleted can be created again.") { scratch in
      _ = try await scratch.savedTag("again")
      _ = try await scratch.modify(.delete("again"))
      return try await scratch.modify(.save("again", "", "create")).judged("ok")
    },
  ]

  static let conflictRules: [ContractCheck] = [
    .rule("5.3", .documented, .records, "A failed operation fails alone, or in an atomic batch with all others.") {
      try await $0.failureOfGroups()
    },
    .rule("5.3", .documented, .records, "Sharing a root gives the share a short GUID and the root a share.") {
      try await $0.sharing()
    },
    .rule("6.3", .documentedByFramework, .records, "A save over a newer version is a conflict with three records.") {
      try await $0.conflict()
    },
  ]
}

extension ContractScratch {
  fileprivate func queryContinues() async throws -> ContractOutcome {
    let query = CKQuery(recordType: Self.recordType, predicate: NSPredicate(format: "rank >= %d", 1))
    query.sortDescriptors = [NSSortDescriptor(key: "rank", ascending: false)]
    let database = database
    var page = try await database.records(matching: query, inZoneWith: zoneID, desiredKeys: ["rank"], resultsLimit: 2)
    var ranks = try page.matchResults.map { try $0.1.get()["rank"] as? Int ?? 0 }
    while let cursor = page.queryCursor, ranks.count < 9 {
      page = try await database.records(continuingMatchFrom: cursor, desiredKeys: ["rank"], resultsLimit: 2)
      ranks += try page.matchResults.map { try $0.1.get()["rank"] as? Int ?? 0 }
    }
    return .of(ranks == [3, 2, 1], came: "found \(ranks.map(String.init).joined(separator: ", "))")
  }

  fileprivate func fieldsLeftOut() async throws -> ContractOutcome {
    _ = try await savedTag("fields-kept", #""text":{"value":"a","type":"STRING"}"#)
    _ = try await savedTag("fields-kept", #""rank":{"value":-1,"type":"INT64"}"#)
    let updated = try await lookup("fields-kept").items.first
    _ = try await modify(.save("fields-kept", #""rank":{"value":-2,"type":"INT64"}"#, "forceReplace"))
    let replaced = try await lookup("fields-kept").items.first
    var findings = Findings()
    findings.expect(updated?.value("text") == .string("a"), "forceUpdate")
    findings.expect(replaced?.value("text") == nil && replaced?.value("rank") == .int(-2), "forceReplace")
    return findings.outcome()
  }

  fileprivate func conflict() async throws -> ContractOutcome {
    let mine = record("conflict")
    mine["text"] = "first"
    try await database.save(mine)
    let theirs = try await database.record(for: mine.recordID)
    theirs["text"] = "theirs"
    try await database.save(theirs)
    mine["text"] = "mine"
    do {
      try await database.save(mine)
      return .otherwise("the save succeeded")
    } catch let error as CKError where error.code == .serverRecordChanged {
      var findings = Findings()
      findings.expect(error.ancestorRecord?["text"] as? String == "first", "the ancestor")
      findings.expect(error.serverRecord?["text"] as? String == "theirs", "the server's record")
      findings.expect(error.clientRecord?["text"] as? String == "mine", "the client's record")
      return findings.outcome()
    }
  }

  fileprivate func failureOfGroups() async throws -> ContractOutcome {
    let stale = record("stale")
    try await database.save(stale)
    let newer = try await database.record(for: stale.recordID)
    newer["rank"] = -1
    try await database.save(newer)
    stale["rank"] = -2
    func codes(_ innocent: String, atomically: Bool) async throws -> [CKError.Code?] {
      let results = try await database.modifyRecords(
        saving: [record(innocent), stale],
        deleting: [],
        atomically: atomically
      )
      return [record(innocent), stale].map { record in
        if case .failure(let error)? = results.saveResults[record.recordID] { (error as? CKError)?.code } else { nil }
      }
    }
    let alone = try await codes("alone", atomically: false)
    let group = try await codes("group", atomically: true)
    let names = try await lookup("alone", "group")

    var findings = Findings()
    findings.expect(alone[0] == nil && alone[1] != nil, "alone")
    findings.expect(group[0] == .batchRequestFailed && group[1] != nil, "in an atomic batch")
    findings.expect(names.outcome == "ok, NOT_FOUND", "the records afterwards: \(names.description)")
    return findings.outcome()
  }

  fileprivate func sharing() async throws -> ContractOutcome {
    let tag = try await savedTag("root")
    let share = [
      #""recordType":"cloudkit.share","fields":{},"publicPermission":"NONE","participants":[]"#,
      #""forRecord":{"recordName":"root","recordChangeTag":\#(JSON.string(tag).text)}"#,
    ]
    let create = #"{"operationType":"create","record":{\#(share.joined(separator: ","))}}"#
    let reply = try await modify(create, atomic: true)
    guard let guid = reply.items.first?["shortGUID"]?.string else { return .otherwise(reply.description) }
    let root = try await lookup("root").items.first
    let resolved = try await post(
      "records/resolve",
      #"{"shortGUIDs":[{"value":\#(JSON.string(guid).text),"shouldFetchRootRecord":false}]}"#,
      in: .public
    )
    var findings = Findings()
    findings.expect(root?["share"]?.object != nil, "the root has no share")
    findings.expect(resolved.items.first?["databaseScope"]?.string == "PRIVATE", "resolve: \(resolved.description)")
    return findings.outcome("")
  }
}
