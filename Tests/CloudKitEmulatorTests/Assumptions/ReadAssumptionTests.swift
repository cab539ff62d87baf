import CloudKitEmulator
import Foundation
import Testing

/// Both positions of the switches about reading; the numbers are those of the questions.
@Suite(.serialized) struct ReadAssumptionTests {
  @Test func `9, the envelope of users/caller`() throws {
    let keys = { (fixture: Fixture) in
      let object = try fixture.post("users/caller", database: "public").object
      return [object["userRecordName"] != nil, object["users"] != nil]
    }

    #expect(try keys(.assuming()) == [true, true])
    #expect(try keys(.assuming { $0.callerEnvelope = .list }) == [false, true])
    #expect(try keys(.assuming { $0.callerEnvelope = .identity }) == [true, false])
  }

  @Test func `10, the wrapper of assets/rereference`() throws {
    let wrappers = { (fixture: Fixture) in
      let body = #"{"zoneID":{"zoneName":"notes"},"assets":[{"recordName":"a","fieldName":"f"}]}"#
      return try fixture.post("assets/rereference", body).object.keys.sorted()
    }

    #expect(try wrappers(.assuming()) == ["assets"])
    #expect(try wrappers(.assuming { $0.rereferenceWrapper = "tokens" }) == ["tokens"])
  }

  @Test func `11, zones that are there and zones that are not`() throws {
    let outcomes = { (fixture: Fixture) in
      let create = #"{"operationType":"create","zone":{"zoneID":{"zoneName":"notes"}}}"#
      let answers = [
        try fixture.post("zones/modify", #"{"operations":[\#(create)]}"#), try fixture.deleteZone("gone"),
        try fixture.deleteZone("_defaultZone"),
      ]
      return answers.map { $0.zones[0]["serverErrorCode"] as? String ?? "fine" }
    }

    #expect(try outcomes(.assuming()) == ["fine", "ZONE_NOT_FOUND", "BAD_REQUEST"])
    #expect(try outcomes(.assuming { $0.existingZone = .exists })[0] == "EXISTS")
    #expect(try outcomes(.assuming { $0.missingZone = .succeeds })[1] == "fine")
    #expect(try outcomes(.assuming { $0.defaultZoneDeletion = .accessDenied })[2] == "ACCESS_DENIED")
  }

  @Test func `12, an empty token`() throws {
    let zone = { (fixture: Fixture) in try fixture.changes("").zones[0] }

    let refused = try zone(.assuming())
    #expect(refused["serverErrorCode"] as? String == "BAD_REQUEST")
    #expect(refused["reason"] as? String == "Invalid continuation format")
    #expect(try zone(.assuming { $0.emptySyncToken = .startsOver })["moreComing"] as? Bool == false)
  }

  @Test func `13, a foreign token`() throws {
    let ask = { (fixture: Fixture) in
      let token = try #require(try fixture.changes().zones[0]["syncToken"] as? String)
      _ = try fixture.deleteZone("notes")
      try fixture.createZone("notes")
      return try fixture.changes(token)
    }

    let zone = try ask(.assuming())
    #expect(zone.status == 200 && zone.zones[0]["serverErrorCode"] as? String == "BAD_REQUEST")
    #expect(zone.zones[0]["reason"] as? String == "Unknown sync continuation type")
    let request = try ask(.assuming { $0.expiredSyncToken = .refusesRequest })
    #expect(request.status == 400 && request.code == "BAD_REQUEST")
    let code = try ask(.assuming { $0.expiredSyncToken = .changeTokenExpired })
    #expect(code.zones[0]["serverErrorCode"] as? String == "CHANGE_TOKEN_EXPIRED")
  }

  @Test func `16, the order of what has none`() throws {
    let fill = { (fixture: Fixture) in
      for name in ["c", "a", "b"] { _ = try fixture.modify(Fixture.save(name)) }
    }
    let changed = { (fixture: Fixture) in
      (try fixture.changes().zones[0]["records"] as? [[String: Any]] ?? []).compactMap { $0["recordName"] as? String }
    }
    let plain = try Fixture.assuming()
    let other = try Fixture.assuming {
      $0.unsortedOrder = .creation
      $0.changesOrder = .recordName
    }
    try fill(plain)
    try fill(other)

    #expect(try plain.query(#""filterBy":[]"#).names == ["a", "b", "c"])
    #expect(try other.query(#""filterBy":[]"#).names == ["c", "a", "b"])
    #expect(try changed(plain) == ["c", "a", "b"])
    #expect(try changed(other) == ["a", "b", "c"])
  }

  @Test func `17, distances, case and what is missing`() throws {
    let fill = { (fixture: Fixture) in
      let near = #""p":{"value":{"latitude":0,"longitude":0.001}}"#
      _ = try fixture.modify(
        Fixture.save("a", #""t":{"value":"Milk"},\#(near)"#),
        Fixture.save("b", #""t":{"value":"milk"},"p":{"value":{"latitude":0,"longitude":1}}"#),
        Fixture.save("c")
      )
    }
    let query = { (fixture: Fixture, comparator: String, field: String, value: String) in
      let filter = #"{"comparator":"\#(comparator)","fieldName":"\#(field)","fieldValue":{"value":\#(value)}}"#
      return try fixture.query(#""filterBy":[\#(filter)]"#).names
    }
    let here = #"{"latitude":0,"longitude":0}"#
    let plain = try Fixture.assuming()
    let other = try Fixture.assuming {
      $0.nearDistance = 1000
      $0.comparesTextIgnoringCase = true
      $0.negationsMatchNull = true
    }
    try fill(plain)
    try fill(other)

    #expect(try query(plain, "NEAR", "p", here) == ["a", "b"])
    #expect(try query(other, "NEAR", "p", here) == ["a"])
    #expect(try query(plain, "EQUALS", "t", #""Milk""#) == ["a"])
    #expect(try query(other, "EQUALS", "t", #""MILK""#) == ["a", "b"])
    #expect(try query(plain, "BEGINS_WITH", "t", #""mi""#) == ["b"])
    #expect(try query(other, "BEGINS_WITH", "t", #""mi""#) == ["a", "b"])
    #expect(try query(plain, "LESS_THAN", "t", #""a""#) == ["a"])
    #expect(try query(other, "LESS_THAN", "t", #""N""#) == ["a", "b"])
    #expect(try query(plain, "NOT_EQUALS", "t", #""Milk""#) == ["b"])
    #expect(try query(other, "NOT_EQUALS", "t", #""Milk""#) == ["c"])
  }

  @Test func `18, subscriptions to databases and in the shared one`() throws {
    let outcomes = { (fixture: Fixture) in
      try ["private", "shared"]
        .map {
          try fixture.subscribe(#"{"subscriptionID":"s","subscriptionType":"database"}"#, database: $0).subscriptionIDs[
            0
          ]
        }
    }

    #expect(try outcomes(.assuming()) == ["s", "s"])
    #expect(try outcomes(.assuming { $0.acceptsDatabaseSubscriptions = false }) == ["BAD_REQUEST", "BAD_REQUEST"])
    #expect(try outcomes(.assuming { $0.acceptsSharedSubscriptions = false }) == ["s", "BAD_REQUEST"])
  }

  @Test func `19, who is not invited, and how to leave`() throws {
    let shared = { (change: (inout EmulatorAssumptions) -> Void) in
      var configuration = EmulatorConfiguration()
      change(&configuration.assumptions)
      return try Shared(configuration).accepted()
    }
    let outcomes = { (shared: Shared) in
      [
        try shared.ask("resolve", try shared.guid(), query: Shared.carl)["serverErrorCode"] as? String ?? "",
        try shared.modify(Fixture.delete("share-1")).outcomes[0],
      ]
    }

    #expect(try outcomes(shared { _ in }) == ["NOT_FOUND", "deleted"])
    #expect(try outcomes(shared { $0.uninvited = .accessDenied })[0] == "ACCESS_DENIED")
    #expect(try outcomes(shared { $0.participantsLeaveByDeletingShares = false })[1] == "ACCESS_DENIED")
  }

  @Test func `22, counts that are not limited unless told`() throws {
    let outcomes = { (fixture: Fixture) in
      let filter = #"{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":1}}"#
      let create = #"{"operationType":"create","zone":{"zoneID":{"zoneName":"second"}}}"#
      _ = try fixture.modify(Fixture.save("a", #""n":{"value":1}"#))
      _ = try fixture.subscribe(Fixture.zoneSubscription)
      return [
        try fixture.post("zones/modify", #"{"operations":[\#(create)]}"#).zones[0]["serverErrorCode"] as? String
          ?? "fine",
        try fixture.subscribe(Fixture.querySubscription("q")).subscriptionIDs[0],
        try fixture.subscribe(Fixture.zoneSubscription).subscriptionIDs[0],
        try fixture.modify(Fixture.save("b", #""l":{"value":[1,2]}"#)).outcomes[0],
        try fixture.query(#""filterBy":[\#(filter),\#(filter)]"#).code ?? "fine",
      ]
    }
    let limited = try Fixture.assuming {
      $0.zoneLimit = 1
      $0.subscriptionLimit = 1
      $0.listLimit = 1
      $0.filterLimit = 1
    }

    #expect(try outcomes(.assuming()) == ["fine", "q", "notes-zone", "saved", "fine"])
    #expect(
      try outcomes(limited) == ["QUOTA_EXCEEDED", "QUOTA_EXCEEDED", "notes-zone", "BAD_REQUEST", "BAD_REQUEST"]
    )
  }

  @Test func `23, the zones of a query subscription`() throws {
    let isWide = { (fixture: Fixture) in
      let body =
        #"{"subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"]}"#
      return try fixture.subscribe(body).subscriptions[0]["zoneWide"] as? Bool
    }

    #expect(try isWide(.assuming()) == false)
    #expect(try isWide(.assuming { $0.subscriptionsAreZoneWide = true }) == true)
  }
}
