import CloudKit
import Foundation
import JSONText
import Testing

@Suite(.serialized) struct ReadTests {
  private let note = #"{"recordName":"n","recordType":"Note","recordChangeTag":"1","fields":{}}"#

  @Test func `records are looked up zone by zone, each with its own result`() async throws {
    let zone = CKRecordZone.ID(zoneName: "gone")
    let (one, two) = (CKRecord.ID(recordName: "n"), CKRecord.ID(recordName: "missing"))
    let three = CKRecord.ID(recordName: "n", zoneID: zone)
    let server = ScriptedServer(
      .json(#"{"records":[{"recordName":"missing","reason":"no","serverErrorCode":"NOT_FOUND"},\#(note)]}"#),
      .json(#"{"serverErrorCode":"ZONE_NOT_FOUND","reason":"no zone"}"#, status: 404)
    )

    let results = try await server.container().privateCloudDatabase.records(for: [one, three, two, one])

    #expect(try results[one]?.get().recordChangeTag == "1")
    #expect(await errorCode { try results[two]?.get() } == .unknownItem)
    #expect(await errorCode { try results[three]?.get() } == .zoneNotFound)
    #expect(try server.bodies()[0]["records"]?.elements.count == 2)
  }

  @Test func `a missing record is caught by its code`() async throws {
    let server = ScriptedServer(
      .json(#"{"records":[{"recordName":"n","reason":"no","serverErrorCode":"NOT_FOUND"}]}"#)
    )

    do {
      _ = try await server.container().publicCloudDatabase.record(for: CKRecord.ID(recordName: "n"))
      Issue.record("expected an error")
    } catch CKError.unknownItem {
    }
  }

  @Test func `a query is followed by its cursor until the end, and not into a stall`() async throws {
    let server = ScriptedServer(
      .json(#"{"records":[\#(note)],"continuationMarker":"m1"}"#),
      .json(#"{"records":[],"continuationMarker":"m2"}"#),
      .json(#"{"records":[],"continuationMarker":"m2"}"#)
    )
    let database = server.container().publicCloudDatabase
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "age > %d", 3))

    let (matches, cursor) = try await database.records(matching: query, desiredKeys: ["age"], resultsLimit: 500)
    #expect(matches.map(\.0.recordName) == ["n"])
    let second = try await database.records(continuingMatchFrom: try #require(cursor))
    let third = try await database.records(continuingMatchFrom: try #require(second.queryCursor))

    #expect(third.queryCursor == nil)
    let bodies = try server.bodies()
    #expect(bodies[0]["resultsLimit"] == .int(200))
    #expect(bodies[0]["desiredKeys"] == .array([.string("age")]))
    #expect(bodies[0]["zoneID"]?["zoneName"] == .string("_defaultZone"))
    #expect(bodies.map { $0["query"] } == Array(repeating: bodies[0]["query"], count: 3))
    #expect(bodies.map { $0["continuationMarker"] } == [nil, .string("m1"), .string("m2")])
  }

  @Test func `whole numbers are sent as DOUBLE where the server says that the field is one`() async throws {
    let refusal = "Field 'price' has a value type of DOUBLE and cannot be queried using filter value type INT64"
    let server = ScriptedServer(
      .json(#"{"serverErrorCode":"BAD_REQUEST","reason":"\#(refusal)"}"#, status: 400),
      .json(#"{"records":[\#(note)],"continuationMarker":"m"}"#),
      .json(#"{"serverErrorCode":"BAD_REQUEST","reason":"\#(refusal)"}"#, status: 400)
    )
    let database = server.container().publicCloudDatabase
    let predicate = NSPredicate(format: "price > 10 AND price IN {11, 12} AND n == 1")
    let query = CKQuery(recordType: "Note", predicate: predicate)

    let (matches, cursor) = try await database.records(matching: query)
    #expect(matches.map(\.0.recordName) == ["n"])
    await #expect(throws: CKError.self) { try await database.records(continuingMatchFrom: try #require(cursor)) }

    func types(_ body: JSON) -> [String?] {
      (body["query"]?["filterBy"]?.elements ?? []).map { $0["fieldValue"]?["type"]?.string }
    }
    #expect(
      try server.bodies().map(types) == [
        ["INT64", "INT64_LIST", "INT64"], ["DOUBLE", "DOUBLE_LIST", "INT64"], ["DOUBLE", "DOUBLE_LIST", "INT64"],
      ]
    )
  }

  @Test func `a query that the server cannot run is not sent`() async throws {
    let server = ScriptedServer()
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "a == 1 OR b == 2"))

    let error = await #expect(throws: CKError.self) {
      try await server.container().publicCloudDatabase.records(matching: query)
    }
    #expect(error?.code == .invalidArguments)
    #expect(server.operations.isEmpty)
  }

  @Test func `a private query without a zone looks in all zones and keeps each record's own`() async throws {
    let record =
      #"{"recordName":"n","recordType":"Note","fields":{},"zoneID":{"zoneName":"notes","ownerRecordName":"_0f"}}"#
    let server = ScriptedServer(.json(#"{"records":[\#(record)]}"#))
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))

    let matches = try await server.container().privateCloudDatabase.records(matching: query).matchResults

    #expect(matches.first?.0 == CKRecord.ID(recordName: "n", zoneID: CKRecordZone.ID(zoneName: "notes")))
    #expect(try server.bodies()[0]["zoneWide"] == .bool(true))
  }

  @Test func `zones are made, listed and deleted`() async throws {
    let zone = CKRecordZone(zoneName: "notes")
    let old = CKRecordZone.ID(zoneName: "old")
    let server = ScriptedServer(
      .json(
        #"""
        {"zones":[{"zoneID":{"zoneName":"notes"},"reason":"exists","serverErrorCode":"EXISTS"},
        {"zoneID":{"zoneName":"old","ownerRecordName":"_0f"},"deleted":true}]}
        """#
      ),
      .json(#"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}},{"zoneID":{"zoneName":"gone"},"deleted":true}]}"#),
      .json(#"{"zones":[{"zoneID":{"zoneName":"x"},"reason":"no","serverErrorCode":"ZONE_NOT_FOUND"}]}"#)
    )
    let database = server.container().privateCloudDatabase

    let (saves, deletes) = try await database.modifyRecordZones(saving: [zone], deleting: [old])
    #expect(try saves[zone.zoneID]?.get() === zone)
    #expect(throws: Never.self) { try deletes[old]?.get() }
    #expect(try await database.allRecordZones().map(\.zoneID) == [.default])
    #expect(
      await errorCode { try await database.recordZone(for: CKRecordZone.ID(zoneName: "x")) } == .zoneNotFound
    )
  }

  @Test func `zones are listed page by page, and a list that does not end is an error`() async throws {
    func page(_ zone: String, _ token: String?) -> ScriptedServer.Answer {
      let more = token.map { #","syncToken":"\#($0)","moreComing":true"# } ?? #","syncToken":"end","moreComing":false"#
      return .json(#"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}}]\#(more)}"#)
    }
    let server = ScriptedServer(page("a", "1"), page("b", "2"), page("c", nil))

    let zones = try await server.container().privateCloudDatabase.allRecordZones()

    #expect(zones.map(\.zoneID.zoneName) == ["a", "b", "c"])
    #expect(server.texts == ["{}", #"{"syncToken":"1"}"#, #"{"syncToken":"2"}"#])
    let endless = [
      ScriptedServer(page("a", "1"), page("b", "2"), page("c", "1"), page("d", nil)),
      ScriptedServer(.json(#"{"zones":[],"moreComing":true}"#), page("d", nil)),
    ]
    for server in endless {
      let database = server.container().privateCloudDatabase
      #expect(await errorCode { try await database.allRecordZones() } == .internalError)
    }
  }

  @Test func `a deletion has the record type that the server sends`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"zones":[{"zoneID":{"zoneName":"notes"},"syncToken":"t","records":[
        {"recordName":"a","deleted":true,"recordType":"Note"},{"recordName":"b","deleted":true}]}]}
        """#
      )
    )

    let page = try await server.container().privateCloudDatabase
      .recordZoneChanges(inZoneWith: CKRecordZone.ID(zoneName: "notes"), since: nil)

    #expect(page.deletions.map(\.recordType) == ["Note", ""])
  }

  @Test func `the changes of a zone are records, deletions and a token`() async throws {
    let zone = CKRecordZone.ID(zoneName: "notes")
    let server = ScriptedServer(
      .json(
        #"""
        {"zones":[{"zoneID":{"zoneName":"notes"},"syncToken":"t2","moreComing":true,
        "records":[\#(note),{"recordName":"gone","deleted":true,"recordType":null}]}]}
        """#
      ),
      .json(
        #"""
        {"zones":[{"zoneID":{"zoneName":"notes"},"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"}]}
        """#
      )
    )
    let database = server.container().privateCloudDatabase

    let page = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
    #expect(try page.modificationResultsByID[CKRecord.ID(recordName: "n", zoneID: zone)]?.get().record != nil)
    #expect(page.deletions.map(\.recordID.recordName) == ["gone"])
    #expect(page.moreComing)
    #expect(
      await errorCode { try await database.recordZoneChanges(inZoneWith: zone, since: page.changeToken) }
        == .changeTokenExpired
    )
    #expect(try server.bodies()[1]["zones"]?.elements.first?["syncToken"] == .string("t2"))
  }

  @Test func `an error that names no record is a result of its page`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"zones":[{"zoneID":{"zoneName":"notes"},"syncToken":"t","records":[
        \#(note),{"serverErrorCode":"NOT_FOUND","reason":"no"}]}]}
        """#
      )
    )
    let zone = CKRecordZone.ID(zoneName: "notes")

    let page = try await server.container().privateCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)

    let nameless = page.modificationResultsByID[CKRecord.ID(recordName: "", zoneID: zone)]
    #expect(page.modificationResultsByID.count == 2)
    #expect(await errorCode { try nameless?.get() } == .unknownItem)
  }

  @Test func `the changes of a database are zones, and the public one has none`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"zones":[{"zoneID":{"zoneName":"notes","ownerRecordName":"_0f"},"syncToken":"z"},
        {"zoneID":{"zoneName":"old","ownerRecordName":"_0f"},"deleted":true}],"syncToken":"d1","moreComing":null}
        """#
      )
    )
    let container = server.container()

    let changes = try await container.sharedCloudDatabase.databaseChanges(since: nil)
    #expect(changes.modifications.map(\.zoneID) == [CKRecordZone.ID(zoneName: "notes", ownerName: "_0f")])
    #expect(changes.deletions.map(\.zoneID.zoneName) == ["old"])
    #expect(!changes.moreComing)
    #expect(
      await errorCode { try await container.publicCloudDatabase.databaseChanges(since: nil) } == .badDatabase
    )
  }

  @Test func `the account is what the credential and the server say`() async throws {
    let key = CKServerToServerKey.generate()
    let s2s = try CKServerToServerKey(keyID: key.keyID, pemRepresentation: key.privateKeyPEM)
    let table: [(CKCredential?, ScriptedServer, CKAccountStatus)] = [
      (nil, ScriptedServer(), .noAccount), (.apiToken("a"), ScriptedServer(), .noAccount),
      (.serverToServerKey(s2s), ScriptedServer(), .available),
      (.webAuth(apiToken: "a", webAuthToken: "b"), ScriptedServer(.json(#"{"userRecordName":"_u"}"#)), .available),
      (
        .webAuth(apiToken: "a", webAuthToken: "b"),
        ScriptedServer(.json(#"{"serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"no"}"#, status: 421)), .noAccount
      ),
    ]
    for (credential, server, status) in table {
      let container = CKContainer(identifier: "iCloud.test", credential: credential, transport: server)
      #expect(try await container.accountStatus() == status)
    }
  }

  @Test func `a container without a name says what to set`() async throws {
    let container = CKContainer(identifier: "", credential: nil, transport: ScriptedServer())

    #expect(
      await errorCode { try await container.publicCloudDatabase.allRecordZones() } == .badContainer
    )
    #expect(container.containerIdentifier == nil)
  }

  @Test func `an environment that makes no sense is refused in one line`() {
    for environment in [["CLOUDKIT_ENVIRONMENT": "staging"], ["CLOUDKIT_URL": "nowhere"]] {
      #expect(throws: CKCredentialError.self) { try CKContainerConfiguration.fromEnvironment(environment) }
    }
  }
}
