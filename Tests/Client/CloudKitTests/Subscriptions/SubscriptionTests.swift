import CloudKit
import Foundation
import JSONText
import Testing

@Suite(.serialized) struct SubscriptionTests {
  private let zone = CKRecordZone.ID(zoneName: "notes")

  private func saved(_ subscription: CKSubscription) async throws -> JSON {
    let server = ScriptedServer(.json(#"{"subscriptions":[]}"#), .json(#"{"subscriptions":[]}"#))
    _ = try? await server.container().privateCloudDatabase.save(subscription)
    #expect(server.operations == ["lookup", "modify"].map { "development/private/subscriptions/\($0)" })
    return try #require(try server.bodies()[1]["operations"]?.elements.first)
  }

  @Test func `a subscription that exists is updated, and any other is created`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"subscriptions":[{"subscriptionID":"new","serverErrorCode":"NOT_FOUND","reason":"no"},
        {"subscriptionID":"known","subscriptionType":"database"}]}
        """#
      ),
      .json(
        #"""
        {"subscriptions":[{"subscriptionID":"new","subscriptionType":"database"},
        {"subscriptionID":"known","subscriptionType":"database"},{"subscriptionID":"old","deleted":true}]}
        """#
      )
    )
    let changed = CKDatabaseSubscription(subscriptionID: "known")
    changed.notificationInfo = CKSubscription.NotificationInfo()

    let results = try await server.container().privateCloudDatabase.modifySubscriptions(
      saving: [CKDatabaseSubscription(subscriptionID: "new"), changed],
      deleting: ["old"]
    )

    #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil })
    #expect(server.texts[0] == #"{"subscriptions":[{"subscriptionID":"new"},{"subscriptionID":"known"}]}"#)
    let operations = try server.bodies()[1]["operations"]?.elements ?? []
    #expect(operations.map { $0["operationType"] } == [.string("create"), .string("update"), .string("delete")])
  }

  @Test func `nothing is sent after the server asked for a pause`() async {
    let throttled = ScriptedServer.Answer.json(#"{"serverErrorCode":"THROTTLED","reason":"slow"}"#, status: 429)
    let server = ScriptedServer(throttled)
    let database = server.container().privateCloudDatabase

    let code = await errorCode { try await database.save(CKDatabaseSubscription(subscriptionID: "a")) }

    #expect(code == .requestRateLimited && server.operations.count == 1)
  }

  @Test(arguments: [
    (#""subscriptionType":"database","notificationInfo":{"alertBody":"x"}"#, false),
    (#""subscriptionType":"query","query":{"recordType":"Note"}"#, true), (#""serverErrorCode":"NOT_FOUND""#, true),
  ])
  func `changes of a database are subscribed to silently, unless they are already`(
    _ found: String,
    _ isSaved: Bool
  ) async throws {
    let lookup = ScriptedServer.Answer.json(#"{"subscriptions":[{"subscriptionID":"all",\#(found)}]}"#)
    let server = ScriptedServer(
      lookup,
      lookup,
      .json(#"{"subscriptions":[{"subscriptionID":"all","subscriptionType":"database"}]}"#)
    )

    let subscription = try await server.container().privateCloudDatabase.subscribeToAllChanges(as: "all")

    #expect(subscription is CKDatabaseSubscription)
    #expect(server.operations.last?.hasSuffix("modify") == isSaved)
    let expected: JSON = .object([
      "notificationInfo": .object(["shouldSendContentAvailable": .bool(true)]), "subscriptionID": .string("all"),
      "subscriptionType": .string("database"),
    ])
    if isSaved { #expect(try server.bodies()[2]["operations"]?.elements.first?["subscription"] == expected) }
  }

  @Test func `a zone subscription is sent with its zone and what the push does`() async throws {
    let subscription = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "notes-zone")
    let info = CKSubscription.NotificationInfo()
    info.shouldSendContentAvailable = true
    subscription.notificationInfo = info

    let operation = try await saved(subscription)

    #expect(operation["operationType"] == .string("create"))
    let expected: JSON = .object([
      "notificationInfo": .object(["shouldSendContentAvailable": .bool(true)]),
      "subscriptionID": .string("notes-zone"), "subscriptionType": .string("zone"),
      "zoneID": .object(["zoneName": .string("notes")]),
    ])
    #expect(operation["subscription"] == expected)
  }

  @Test func `the record type of a zone's subscription is kept here and not sent`() async throws {
    let server = ScriptedServer(
      .json(#"{"subscriptions":[]}"#),
      .json(#"{"subscriptions":[{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"notes"}}]}"#)
    )
    let subscription = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "z")
    subscription.recordType = "Note"

    let saved = try await server.container().privateCloudDatabase.save(subscription)

    #expect(saved !== subscription && (saved as? CKRecordZoneSubscription)?.recordType == "Note")
    #expect(try server.bodies()[1]["operations"]?.elements.first?["subscription"]?["recordType"] == nil)
  }

  @Test func `a query subscription is sent with its filters and the changes that it fires on`() async throws {
    let subscription = CKQuerySubscription(
      recordType: "Note",
      predicate: NSPredicate(format: "tag == %@ AND age > %d", "a", 3),
      subscriptionID: "s",
      options: [.firesOnRecordCreation, .firesOnRecordDeletion, .firesOnce]
    )

    let sent = try #require(try await saved(subscription)["subscription"])

    #expect(sent["subscriptionType"] == .string("query"))
    #expect(sent["firesOn"] == .array([.string("create"), .string("delete")]))
    #expect(sent["firesOnce"] == .bool(true))
    #expect(sent["zoneWide"] == .bool(true))
    let filters = sent["query"]?["filterBy"]?.elements ?? []
    #expect(filters.map { $0["comparator"] } == [.string("EQUALS"), .string("GREATER_THAN")])
    #expect(filters.map { $0["fieldName"] } == [.string("tag"), .string("age")])
  }

  @Test(arguments: ["a == b", "tag == 'a' AND due > now()"])
  func `a query that the server cannot run fails alone and is not sent`(format: String) async throws {
    let server = ScriptedServer(
      .json(#"{"subscriptions":[]}"#),
      .json(#"{"subscriptions":[{"subscriptionID":"good","subscriptionType":"database"}]}"#)
    )
    let bad = CKQuerySubscription(
      recordType: "Note",
      predicate: NSPredicate(format: format),
      subscriptionID: "bad",
      options: .firesOnRecordUpdate
    )

    let results = try await server.container().privateCloudDatabase
      .modifySubscriptions(saving: [bad, CKDatabaseSubscription(subscriptionID: "good")], deleting: [])

    #expect(await errorCode { try results.saveResults["bad"]?.get() } == .invalidArguments)
    #expect(try results.saveResults["good"]?.get() is CKDatabaseSubscription)
    #expect(try server.bodies()[1]["operations"]?.elements.count == 1)
  }

  @Test func `subscriptions come back as their kinds, and can be saved again as they were`() async throws {
    let filter = #"{"comparator":"EQUALS","fieldName":"tag","fieldValue":{"type":"STRING","value":"a"}}"#
    let strange = #"{"comparator":"SOUNDS_LIKE","fieldName":"tag","fieldValue":{"type":"STRING","value":"a"}}"#
    let server = ScriptedServer(
      .json(
        #"""
        {"subscriptions":[
          {"subscriptionID":"q","subscriptionType":"query","zoneWide":true,"firesOn":["update"],
           "query":{"recordType":"Note","filterBy":[\#(filter),\#(strange)]}},
          {"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"notes","ownerRecordName":"_1"}},
          {"subscriptionID":"d","subscriptionType":"database"},
          {"subscriptionID":"x","subscriptionType":"of a later year"}]}
        """#
      ),
      .json(#"{"subscriptions":[]}"#),
      .json(#"{"subscriptions":[]}"#)
    )
    let database = server.container().privateCloudDatabase

    let all = try await database.allSubscriptions()
    let query = try #require(all.first as? CKQuerySubscription)
    _ = try? await database.save(query)

    #expect(all.map(\.subscriptionID) == ["q", "z", "d"])
    #expect(all.map(\.subscriptionType) == [.query, .recordZone, .database])
    #expect((all[1] as? CKRecordZoneSubscription)?.zoneID == zone)
    #expect(query.recordType == "Note")
    #expect(query.querySubscriptionOptions == .firesOnRecordUpdate)
    let search = CKQuery(recordType: "Note", predicate: query.predicate)
    #expect(await errorCode { try search.wire(zoneID: .default) } == .invalidArguments)
    let again = try server.bodies()[2]["operations"]?.elements.first?["subscription"]
    #expect(
      again?["query"]?["filterBy"]?.elements.map { $0["comparator"] } == [.string("EQUALS"), .string("SOUNDS_LIKE")]
    )
  }

  @Test func `a missing subscription is an unknown item, a refusal is told by item`() async throws {
    let server = ScriptedServer(
      .json(#"{"subscriptions":[{"subscriptionID":"a","serverErrorCode":"NOT_FOUND","reason":"no"}]}"#),
      .json(#"{"subscriptions":[{"subscriptionID":"a","serverErrorCode":"NOT_FOUND","reason":"no"}]}"#),
      .json(
        #"{"subscriptions":[{"serverErrorCode":"INTERNAL_ERROR","reason":"could not find it"},{"subscriptionID":"b","deleted":true}]}"#
      )
    )
    let database = server.container().privateCloudDatabase

    #expect(await errorCode { try await database.subscription(for: "a") } == .unknownItem)
    let results = try await database.modifySubscriptions(
      saving: [CKDatabaseSubscription(subscriptionID: "a")],
      deleting: ["b"]
    )
    #expect(await errorCode { try results.saveResults["a"]?.get() } == .internalError)
    #expect((try? results.deleteResults["b"]?.get()) != nil)
  }

  @Test(arguments: [0, 1, 2])
  func `archives and copies keep every part`(kind: Int) throws {
    let subscriptions: [CKSubscription] = [
      CKQuerySubscription(
        recordType: "Note",
        predicate: NSPredicate(format: "tag IN %@", ["a", "b"]),
        subscriptionID: "q",
        options: [.firesOnRecordCreation, .firesOnce]
      ),
      CKRecordZoneSubscription(zoneID: zone, subscriptionID: "z"), CKDatabaseSubscription(subscriptionID: "d"),
    ]
    let subscription = subscriptions[kind]
    (subscription as? CKQuerySubscription)?.zoneID = zone
    (subscription as? CKRecordZoneSubscription)?.recordType = "Note"
    (subscription as? CKDatabaseSubscription)?.recordType = "Note"
    let info = CKSubscription.NotificationInfo()
    info.alertBody = "Hello"
    info.desiredKeys = ["title"]
    subscription.notificationInfo = info

    let data = try NSKeyedArchiver.archivedData(withRootObject: subscription, requiringSecureCoding: true)
    let copy = try #require(subscription.copy() as? CKSubscription)
    info.alertBody = "changed later"

    let read = try #require(
      try NSKeyedUnarchiver.unarchivedObject(ofClass: type(of: subscription), from: data)
    )
    #expect(read == copy)
    #expect(read.notificationInfo?.alertBody == "Hello")
    #expect(read != subscription)
    #expect((read as? CKQuerySubscription)?.zoneID == (kind == 0 ? zone : nil))
    #expect((read as? CKRecordZoneSubscription)?.recordType == (kind == 1 ? "Note" : nil))
    #expect((read as? CKDatabaseSubscription)?.recordType == (kind == 2 ? "Note" : nil))
  }

  @Test func `completion handlers are called with what the calls give`() async throws {
    let server = ScriptedServer(
      .json(#"{"subscriptions":[]}"#),
      .json(#"{"subscriptions":[{"subscriptionID":"d","subscriptionType":"database"}]}"#),
      .json(#"{"subscriptions":[{"subscriptionID":"d","serverErrorCode":"NOT_FOUND","reason":"no"}]}"#)
    )
    let database = server.container().privateCloudDatabase

    let saved = await withCheckedContinuation { continuation in
      database.save(CKDatabaseSubscription(subscriptionID: "d")) { subscription, error in
        continuation.resume(returning: subscription?.subscriptionID ?? "\(String(describing: error))")
      }
    }
    let failed = await withCheckedContinuation { continuation in
      database.delete(withSubscriptionID: "d") { id, error in
        continuation.resume(returning: id == nil ? (error as? CKError)?.code : nil)
      }
    }

    #expect(saved == "d")
    #expect(failed == .unknownItem)
  }
}
