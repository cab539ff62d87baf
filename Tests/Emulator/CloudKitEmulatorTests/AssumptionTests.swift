import CloudKitEmulator
import Foundation
import Testing

/// The switches that no run of the contract can see in both positions, and the cases of others that it does not try. The
/// numbers are those of the questions.
@Suite(.serialized) struct AssumptionTests {
  @Test func `11, deleting the default zone`() throws {
    let outcome = { (fixture: Fixture) in
      try fixture.deleteZone("_defaultZone").zones[0]["serverErrorCode"] as? String
    }

    #expect(try outcome(.assuming()) == "BAD_REQUEST")
    #expect(try outcome(.assuming { $0.defaultZoneDeletion = .accessDenied }) == "ACCESS_DENIED")
  }

  @Test(arguments: [#"{"value":[]}"#, #"{"value":[],"type":"STRING_LIST"}"#, #"{"value":[],"type":"UNKNOWN_LIST"}"#])
  func `15, an empty list of a field that does not exist`(empty: String) throws {
    let outcomes = { (fixture: Fixture) in
      try [#""tags":\#(empty)"#, #""tags":{"value":["x"]}"#, #""tags":\#(empty)"#].map { fields in
        try fixture.modify(Fixture.save("a", fields)).outcomes[0]
      }
    }

    #expect(try outcomes(.assuming()) == ["BAD_REQUEST", "saved", "saved"])
    #expect(try outcomes(.assuming { $0.emptyListsAddFields = true }) == ["saved", "saved", "saved"])
    let fixture = try Fixture.assuming()
    _ = try outcomes(fixture)
    let schema = fixture.emulator.exportSchema(container: "iCloud.test")
    #expect(schema.split(separator: "\n").contains { $0.contains("tags ") && $0.contains("LIST<STRING>") })
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

  @Test func `22, requests a second`() throws {
    let crowd = { (fixture: Fixture) in
      _ = try fixture.post("zones/list")
      return try (0..<3)
        .map { _ in
          // The clock does not move.
          fixture.pass(-1)
          return try fixture.post("zones/list")
        }
    }
    let limited = try Fixture.assuming { $0.requestsPerSecond = 2 }

    #expect(try crowd(.assuming()).map(\.status) == [200, 200, 200])
    let answers = try crowd(limited)
    #expect(answers.map(\.status) == [200, 429, 429])
    #expect(answers[1].code == "THROTTLED" && answers[1].object["retryAfter"] as? Int == 1)
    #expect(try limited.post("zones/list").status == 200)
    #expect(try crowd(limited).map(\.status) == [200, 429, 429])
    limited.pass(-1)
    #expect(try limited.post("zones/list", query: "ckAPIToken=t&ckWebAuthToken=bob").status == 200)
  }

  @Test func `22, zones and subscriptions, which are not limited by default`() throws {
    let outcomes = { (fixture: Fixture) in
      let create = #"{"operationType":"create","zone":{"zoneID":{"zoneName":"second"}}}"#
      _ = try fixture.modify(Fixture.save("a", #""n":{"value":1}"#))
      _ = try fixture.subscribe(Fixture.zoneSubscription)
      return [
        try fixture.post("zones/modify", #"{"operations":[\#(create)]}"#).zones[0]["serverErrorCode"] as? String
          ?? "fine",
        try fixture.subscribe(Fixture.querySubscription("q")).subscriptionIDs[0],
        try fixture.subscribe(Fixture.zoneSubscription).subscriptionIDs[0],
      ]
    }
    let limited = try Fixture.assuming {
      $0.zoneLimit = 1
      $0.subscriptionLimit = 1
    }

    #expect(try outcomes(.assuming()) == ["fine", "q", "notes-zone"])
    #expect(try outcomes(limited) == ["QUOTA_EXCEEDED", "QUOTA_EXCEEDED", "notes-zone"])
  }

  @Test func `24, cascades in the feed, also of a file that was closed`() async throws {
    let gone = { (fixture: Fixture) in
      let reference = #""r":{"value":{"recordName":"a","action":"DELETE_SELF"}}"#
      _ = try fixture.modify(Fixture.save("a"))
      _ = try fixture.modify(Fixture.save("b", reference))
      _ = try fixture.modify(Fixture.delete("a"))
      #expect(try fixture.lookup("b")["serverErrorCode"] as? String == "NOT_FOUND")
      let records = try #require(try fixture.changes().zones[0]["records"] as? [[String: Any]])
      return Set(records.compactMap { $0["recordName"] as? String })
    }

    #expect(try gone(.assuming()) == ["a", "b"])
    #expect(try gone(.assuming { $0.cascadesLeaveTombstones = false }) == ["a"])
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      var configuration = EmulatorConfiguration()
      configuration.assumptions.cascadesLeaveTombstones = false
      try {
        let fixture = try Fixture(configuration, path: path)
        try fixture.createZone("notes")
        #expect(try gone(fixture) == ["a"])
      }()
      let records = try Fixture(path: path).changes().zones[0]["records"] as? [[String: Any]]
      #expect(records?.compactMap { $0["recordName"] as? String } == ["a"])
    }
  }

  @Test func `25, Retry-After`() throws {
    let throttled = { (fixture: Fixture) in
      fixture.emulator.throttle(until: fixture.now.addingTimeInterval(11))
      return try fixture.post("zones/list")
    }
    let both = try throttled(.assuming())
    let body = try throttled(.assuming { $0.sendsRetryAfterHeader = false })

    #expect(both.header("Retry-After") == "10" && both.object["retryAfter"] as? Int == 10)
    #expect(body.header("Retry-After") == nil && body.object["retryAfter"] as? Int == 10)
  }

  @Test(arguments: [EmulatorAssumptions.EncryptedType.plain, .ofItsOwn])
  func `27, the type of an encrypted time or place, which writes may have in either form`(
    answer: EmulatorAssumptions.EncryptedType
  ) throws {
    let prefix = answer == .plain ? "" : "ENCRYPTED_"

    for written in ["", "ENCRYPTED_"] {
      let fixture = try Fixture.assuming { $0.encryptedType = answer }
      let fields =
        #""t":{"value":5,"type":"\#(written)TIMESTAMP","isEncrypted":true},"#
        + #""l":{"value":{"latitude":1,"longitude":2},"type":"\#(written)LOCATION","isEncrypted":true}"#
      #expect(try fixture.modify(Fixture.save("a", fields)).outcomes == ["saved"])
      let saved = try #require(try fixture.lookup("a")["fields"] as? [String: [String: Any]])
      #expect(saved["t"]?["type"] as? String == prefix + "TIMESTAMP")
      #expect(saved["l"]?["type"] as? String == prefix + "LOCATION")
      #expect(saved.values.allSatisfy { $0["isEncrypted"] as? Bool == true })
    }
  }

  @Test func `28, a fraction of a millisecond, in a time, a list and a place`() throws {
    let fields =
      #""t":{"value":-1.5,"type":"TIMESTAMP"},"ts":{"value":[1,2.5],"type":"TIMESTAMP_LIST"},"#
      + #""l":{"value":{"latitude":1,"longitude":2,"timestamp":3.5},"type":"LOCATION"}"#
    let dropping = try Fixture.assuming { $0.timestampFraction = .isDropped }

    #expect(try Fixture.assuming().modify(Fixture.save("a", fields)).outcomes == ["BAD_REQUEST"])
    #expect(try dropping.modify(Fixture.save("a", fields)).outcomes == ["saved"])
    let saved = try #require(try dropping.lookup("a")["fields"] as? [String: [String: Any]])
    #expect(saved["t"]?["value"] as? Int == -2)
    #expect((saved["ts"]?["value"] as? [Any])?.compactMap { $0 as? Int } == [1, 2])
    #expect((saved["l"]?["value"] as? [String: Any])?["timestamp"] as? Int == 3)
  }
}

extension Fixture {
  /// A fixture whose zone `notes` exists, with other assumptions than the default.
  static func assuming(_ change: (inout EmulatorAssumptions) -> Void = { _ in }) throws -> Fixture {
    var configuration = EmulatorConfiguration()
    change(&configuration.assumptions)
    return try withZone(configuration)
  }
}
