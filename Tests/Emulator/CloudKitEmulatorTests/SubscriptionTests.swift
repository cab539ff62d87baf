import CloudKitEmulator
import Foundation
import Testing

extension Answer {
  var subscriptions: [[String: Any]] { object["subscriptions"] as? [[String: Any]] ?? [] }
  /// The IDs of the answer, or the code of what failed.
  var subscriptionIDs: [String] {
    subscriptions.map { $0["serverErrorCode"] as? String ?? $0["subscriptionID"] as? String ?? "" }
  }
}

extension Fixture {
  static let zoneSubscription =
    #"{"subscriptionID":"notes-zone","subscriptionType":"zone","zoneID":{"zoneName":"notes"},"notificationInfo":{"shouldSendContentAvailable":true}}"#

  static func querySubscription(_ id: String, firesOn: String = #""create""#, _ more: String = "") -> String {
    #"{"subscriptionID":"\#(id)","subscriptionType":"query","zoneID":{"zoneName":"notes"},"query":{"recordType":"Note"},"firesOn":[\#(firesOn)]\#(more)}"#
  }

  func subscribe(
    _ subscription: String,
    type: String = "create",
    database: String = "private",
    query: String = Fixture.ana
  ) throws -> Answer {
    try post(
      "subscriptions/modify",
      #"{"operations":[{"operationType":"\#(type)","subscription":\#(subscription)}]}"#,
      database: database,
      query: query
    )
  }
}

@Suite(.serialized) struct SubscriptionTests {
  @Test func `subscriptions are made, listed, looked up, changed and deleted`() throws {
    let fixture = try Fixture.withZone()
    let database = #"{"subscriptionID":"all","subscriptionType":"database"}"#

    #expect(try fixture.subscribe(Fixture.zoneSubscription).subscriptionIDs == ["notes-zone"])
    #expect(try fixture.subscribe(database).subscriptionIDs == ["all"])
    #expect(try fixture.subscribe(Fixture.querySubscription("new")).subscriptionIDs == ["new"])

    let list = try fixture.post("subscriptions/list", method: "GET")
    #expect(list.subscriptionIDs == ["all", "new", "notes-zone"])
    #expect(list.subscriptions.map { $0["subscriptionType"] as? String } == ["database", "query", "zone"])
    #expect(
      try fixture.post("subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"new"},{"subscriptionID":"x"}]}"#)
        .subscriptionIDs == ["new", "NOT_FOUND"]
    )
    let update = Fixture.querySubscription("new", firesOn: #""delete","create""#)
    #expect(
      try fixture.subscribe(update, type: "update").subscriptions[0]["firesOn"] as? [String] == ["create", "delete"]
    )
    let gone = try fixture.subscribe(#"{"subscriptionID":"all"}"#, type: "delete")
    #expect(gone.subscriptions[0]["deleted"] as? Bool == true)
    #expect(try fixture.subscribe(#"{"subscriptionID":"all"}"#, type: "delete").subscriptionIDs == ["NOT_FOUND"])
    #expect(try fixture.post("subscriptions/list").subscriptionIDs == ["new", "notes-zone"])
  }

  @Test func `two subscriptions to one type for the same occasions collide, whatever their filters`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.subscribe(Fixture.querySubscription("a", firesOn: #""create","update""#))

    let second = try fixture.subscribe(Fixture.querySubscription("b", firesOn: #""update","create""#))

    #expect(second.status == 200 && second.subscriptionIDs == ["INTERNAL_ERROR"])
    #expect(second.subscriptions[0]["reason"] as? String == "could not find subscription we just created")
    #expect(try fixture.subscribe(Fixture.querySubscription("c")).subscriptionIDs == ["c"])
    #expect(
      try fixture.subscribe(Fixture.querySubscription("a", firesOn: #""create","update""#)).subscriptionIDs == ["a"]
    )
    let berta = "ckAPIToken=token&ckWebAuthToken=berta"
    #expect(try fixture.post("subscriptions/list", query: berta).subscriptionIDs == [])
  }

  @Test(arguments: [
    ("private", #"{"subscriptionType":"zone","zoneID":{"zoneName":"gone"}}"#, "ZONE_NOT_FOUND"),
    ("private", #"{"subscriptionType":"zone","zoneID":{"zoneName":"_defaultZone"}}"#, "BAD_REQUEST"),
    ("private", #"{"subscriptionType":"query","firesOn":["create"]}"#, "BAD_REQUEST"),
    ("private", #"{"subscriptionType":"query","query":{"recordType":"Note"},"firesOn":[]}"#, "BAD_REQUEST"),
    ("private", #"{"subscriptionType":"other"}"#, "BAD_REQUEST"),
    ("public", #"{"subscriptionType":"database"}"#, "BAD_REQUEST"),
    ("public", #"{"subscriptionType":"zone","zoneID":{"zoneName":"notes"}}"#, "BAD_REQUEST"),
    ("shared", #"{"subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"]}"#, "BAD_REQUEST"),
  ])
  func `what a database does not offer is an error of the item`(database: String, body: String, code: String) throws {
    let answer = try Fixture.withZone().subscribe(body, database: database)

    #expect(answer.status == 200 && answer.subscriptionIDs == [code])
  }

  @Test func `a filter obeys the schema as in a query`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a", #""n":{"value":1}"#))
    let filter = { (field: String) in
      #"{"subscriptionType":"query","subscriptionID":"s","firesOn":["create"],"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"\#(field)","fieldValue":{"value":1,"type":"INT64"}}]}}"#
    }

    #expect(try fixture.subscribe(filter("n")).subscriptionIDs == ["s"])
    #expect(try fixture.subscribe(filter("other")).subscriptionIDs == ["BAD_REQUEST"])
  }

  @Test func `without a user there is nobody to tell, and a strict server knows no database subscriptions`() throws {
    var configuration = EmulatorConfiguration()
    configuration.assumptions.acceptsDatabaseSubscriptions = false
    let fixture = try Fixture.withZone(configuration)

    let world = try fixture.post("subscriptions/list", database: "public", query: "ckAPIToken=token")

    #expect(world.code == "AUTHENTICATION_REQUIRED")
    #expect(try fixture.subscribe(#"{"subscriptionType":"database"}"#).subscriptionIDs == ["BAD_REQUEST"])
  }

  @Test func `subscriptions and tokens survive a restart`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let (list, url) = try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        _ = try fixture.subscribe(Fixture.zoneSubscription)
        _ = try fixture.subscribe(Fixture.querySubscription("gone"))
        _ = try fixture.subscribe(#"{"subscriptionID":"gone"}"#, type: "delete")
        return (try fixture.post("subscriptions/list").text, try fixture.courierURL())
      }()

      let fixture = try Fixture(path: path)

      #expect(try fixture.post("subscriptions/list").text == list)
      _ = try fixture.modify(Fixture.save("a"))
      #expect(try fixture.poll(url)?.content("fet")["sid"] as? String == "notes-zone")
    }
  }
}
