import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Testing

/// One notification, read by Foundation's parser.
struct Push {
  let object: [String: Any]
  var aps: [String: Any] { object["aps"] as? [String: Any] ?? [:] }
  var ck: [String: Any] { object["ck"] as? [String: Any] ?? [:] }
  func content(_ kind: String) -> [String: Any] { ck[kind] as? [String: Any] ?? [:] }
}

extension Fixture {
  /// Makes a push token and returns the address of its long poll.
  func courierURL(query: String = Fixture.ana) throws -> String {
    pass(1)
    let request = EmulatorRequest(
      path: "/device/1/iCloud.test/development/tokens/create",
      query: query,
      body: Data(#"{"apnsEnvironment":"development"}"#.utf8)
    )
    let answer = Answer(try #require(emulator.handle(request, at: now).response))
    #expect(answer.object["apnsEnvironment"] as? String == "development")
    let token = try #require(answer.object["apnsToken"] as? String)
    let url = try #require(answer.object["webcourierURL"] as? String)
    #expect(url.hasSuffix("/aps?tok=\(token)&ttl=43200"))
    return url
  }

  func pollReply(_ url: String) -> EmulatorReply {
    pass(1)
    let parts = url.replacing("http://emulator.invalid", with: "").split(separator: "?").map(String.init)
    return emulator.handle(EmulatorRequest(method: "GET", path: parts[0], query: parts[1]), at: now)
  }

  /// The notification that waits for a token; `nil` where the poll would be held.
  func poll(_ url: String) throws -> Push? {
    let reply = pollReply(url)
    guard case .respond(let response) = reply.outcome else { return nil }
    #expect(response.status == 200)
    return Push(object: Answer(response).object)
  }
}

@Suite(.serialized, .timeLimit(.minutes(40))) struct PushTests {
  @Test func `a write to a zone is told to its subscribers, once per batch`() throws {
    let fixture = try Fixture.withZone()
    try fixture.createZone("other")
    let url = try fixture.courierURL()
    _ = try fixture.subscribe(Fixture.zoneSubscription)

    _ = try fixture.modify(Fixture.save("x"), zone: "other")
    _ = try fixture.modify(Fixture.save("a"), Fixture.save("b"))
    _ = try fixture.modify(Fixture.save("a", type: "create"))

    let push = try #require(try fixture.poll(url))
    #expect(push.aps["content-available"] as? Int == 1)
    #expect(push.ck["cid"] as? String == "iCloud.test" && push.ck["ce"] as? Int == 2 && push.ck["nid"] != nil)
    let zone = push.content("fet")
    #expect(zone["zid"] as? String == "notes" && zone["dbs"] as? Int == 2 && zone["sid"] as? String == "notes-zone")
    #expect(try fixture.poll(url) == nil)
  }

  @Test func `a database subscription hears of every zone, also of those made and deleted`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    _ = try fixture.subscribe(#"{"subscriptionID":"all","subscriptionType":"database"}"#)

    try fixture.createZone("other")
    _ = try fixture.modify(Fixture.save("x"), zone: "other")
    _ = try fixture.deleteZone("other")

    for _ in 0..<3 {
      #expect(try fixture.poll(url)?.content("met")["sid"] as? String == "all")
    }
    #expect(try fixture.poll(url) == nil)
  }

  @Test func `a query subscription hears of records that match, by occasion`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    _ = try fixture.modify(Fixture.save("old", #""n":{"value":1},"title":{"value":"Milk"}"#))
    let info =
      #","notificationInfo":{"alertBody":"New","alertLocalizationKey":"KEY","alertLocalizationArgs":["title","n"],"soundName":"ping","shouldBadge":true,"category":"c","additionalFields":["title"]}"#
    let query =
      #"{"subscriptionID":"q","subscriptionType":"query","zoneWide":true,"firesOn":["create","delete"],"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":1,"type":"INT64"}}]}\#(info)}"#
    #expect(try fixture.subscribe(query).subscriptionIDs == ["q"])

    _ = try fixture.modify(
      Fixture.save("new", #""n":{"value":1},"title":{"value":"Tea"}"#),
      Fixture.save("deaf", #""n":{"value":2}"#),
      Fixture.save("old", #""title":{"value":"Oat milk"}"#)
    )
    _ = try fixture.modify(Fixture.delete("old"))

    let created = try #require(try fixture.poll(url))
    #expect(created.content("qry")["rid"] as? String == "new" && created.content("qry")["fo"] as? Int == 1)
    #expect((created.content("qry")["af"] as? [String: Any])?["title"] as? String == "Tea")
    let alert = try #require(created.aps["alert"] as? [String: Any])
    #expect(alert["body"] as? String == "New" && alert["loc-args"] as? [String] == ["Tea", "1"])
    #expect(created.aps["sound"] as? String == "ping" && created.aps["badge"] as? Int == 1)
    let deleted = try #require(try fixture.poll(url)).content("qry")
    #expect(deleted["rid"] as? String == "old" && deleted["fo"] as? Int == 3 && deleted["zid"] as? String == "notes")
    #expect(try fixture.poll(url) == nil)
  }

  @Test func `a notification that is too long loses what is to be shown, and says so`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    let info = #","notificationInfo":{"alertBody":"New","additionalFields":["title"]}"#
    _ = try fixture.subscribe(Fixture.querySubscription("q", info))

    _ = try fixture.modify(Fixture.save("a", #""title":{"value":"\#(String(repeating: "x", count: 5000))"}"#))

    let push = try #require(try fixture.poll(url))
    #expect(push.ck["p"] as? Int == 1 && push.content("qry")["rid"] as? String == "a")
    #expect(push.content("qry")["af"] == nil && push.aps["alert"] == nil)
  }

  @Test func `a subscription that fires once is gone after that`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    _ = try fixture.subscribe(Fixture.querySubscription("q", #","firesOnce":true"#))

    _ = try fixture.modify(Fixture.save("a"), Fixture.save("b"))

    #expect(try fixture.poll(url)?.content("qry")["rid"] as? String == "a")
    #expect(try fixture.poll(url) == nil)
    #expect(try fixture.post("subscriptions/list").subscriptionIDs == [])
  }

  @Test func `the public database tells each subscriber on all their tokens`() throws {
    let fixture = try Fixture()
    let berta = "ckAPIToken=token&ckWebAuthToken=berta"
    let urls = try [fixture.courierURL(query: berta), fixture.courierURL(query: berta), fixture.courierURL()]
    let query = #"{"subscriptionID":"q","subscriptionType":"query","firesOn":["create"],"query":{"recordType":"Note"}}"#
    #expect(try fixture.subscribe(query, database: "public", query: berta).subscriptionIDs == ["q"])

    _ = try fixture.post("records/modify", #"{"operations":[\#(Fixture.save("a"))]}"#, database: "public")

    let rids = try urls.map { try fixture.poll($0)?.content("qry")["rid"] as? String }
    #expect(rids == ["a", "a", nil])
  }

  @Test func `of too many notifications the oldest go, and a token ends after twelve hours`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    _ = try fixture.subscribe(Fixture.querySubscription("q"))
    for number in 0..<105 { _ = try fixture.modify(Fixture.save("n\(number)")) }

    #expect(try fixture.poll(url)?.content("qry")["rid"] as? String == "n5")
    fixture.pass(43_200)
    #expect(fixture.pollReply(url).response?.status == 410)
    #expect(fixture.pollReply(url + "x").response?.status == 410)
  }

  @Test func `tokens are registered, and the documented path of the calls works too`() throws {
    let fixture = try Fixture()
    let device = #"{"apnsEnvironment":"development","apnsToken":"c3f0"}"#

    #expect(try fixture.post("tokens/register", device).status == 200)
    #expect(try fixture.post("tokens/register", #"{"apnsEnvironment":"development"}"#).code == "BAD_REQUEST")
    #expect(try fixture.post("tokens/create", #"{"apnsEnvironment":"other"}"#).code == "BAD_REQUEST")
    let world = try fixture.post(
      "tokens/create",
      #"{"apnsEnvironment":"development"}"#,
      database: "public",
      query: "ckAPIToken=token"
    )
    #expect(world.code == "AUTHENTICATION_REQUIRED")
    let short = EmulatorRequest(
      path: "/database/1/iCloud.test/development/tokens/register",
      query: Fixture.ana,
      body: Data(device.utf8)
    )
    #expect(fixture.emulator.handle(short, at: fixture.now).response?.status == 200)
  }

  @Test func `a poll in process waits for the write, and a second one of the same token ends the first`() async throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    _ = try fixture.subscribe(Fixture.querySubscription("q"))
    let first = try #require(fixture.pollReply(url).hold)
    let second = try #require(fixture.pollReply(url).hold)

    async let early = fixture.emulator.reply(to: first)
    await fixture.waitForPolls(1)
    async let late = fixture.emulator.reply(to: second)
    #expect(await early.response?.body.isEmpty == true)
    _ = try fixture.modify(Fixture.save("a"))

    let body = try #require(await late.response?.body)
    #expect(String(decoding: body, as: UTF8.self).contains(#""rid":"a""#))
    #expect(fixture.emulator.waitingPolls == 0)
  }

  @Test func `a poll ends when its task is cancelled, and when the network goes`() async throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    let emulator = fixture.emulator
    let first = try #require(fixture.pollReply(url).hold)
    let task = Task { await emulator.reply(to: first) }
    await fixture.waitForPolls(1)
    task.cancel()
    #expect(await task.value.response?.body.isEmpty == true)
    #expect(emulator.waitingPolls == 0)

    let second = try #require(fixture.pollReply(url).hold)
    let other = Task { await emulator.reply(to: second) }
    await fixture.waitForPolls(1)
    emulator.isOffline = true
    guard case .drop = await other.value.outcome else { return #expect(Bool(false), "the poll should be dropped") }
  }

  @Test func `the transport carries a poll, with its keep-alive by the clock it was given`() async throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.courierURL()
    _ = try fixture.subscribe(Fixture.querySubscription("q"))
    let query = String(url.split(separator: "?")[1])
    let request = CKTransportRequest(method: "GET", path: "/aps", query: query)
    let never = EmulatorTransport(fixture.emulator, now: { fixture.now }) { _ in
      while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
    }
    let atOnce = EmulatorTransport(fixture.emulator, now: { fixture.now }) { _ in }

    #expect(try await atOnce.send(request).body.isEmpty)
    async let answer = never.send(request)
    await fixture.waitForPolls(1)
    _ = try fixture.modify(Fixture.save("a"))
    #expect(String(decoding: try await answer.body, as: UTF8.self).contains(#""rid":"a""#))
  }
}

extension EmulatorReply {
  var hold: EmulatorHold? {
    if case .hold(let hold) = outcome { hold } else { nil }
  }
}

extension Fixture {
  func waitForPolls(_ count: Int) async {
    while emulator.waitingPolls < count { try? await Task.sleep(for: .milliseconds(2)) }
  }
}

@Suite(.serialized, .timeLimit(.minutes(40))) struct CourierServerTests {
  @Test func `a long poll over HTTP hangs until a write`() async throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.subscribe(Fixture.querySubscription("q"))
    let path = try fixture.courierURL().replacing("http://emulator.invalid", with: "")
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    let wire = try Wire(port: try await server.start())

    wire.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await fixture.waitForPolls(1)
    _ = try fixture.modify(Fixture.save("a"))
    #expect(try #require(await wire.receive()).body.contains(#""rid":"a""#))

    // What is due already is answered at once, on the same connection.
    _ = try fixture.modify(Fixture.save("b"))
    wire.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(try #require(await wire.receive()).body.contains(#""rid":"b""#))
    try await server.stop()
  }

  @Test func `a long poll over HTTP ends with nothing after its keep-alive`() async throws {
    var configuration = EmulatorConfiguration()
    configuration.courierKeepAlive = .milliseconds(20)
    let fixture = try Fixture.withZone(configuration)
    let path = try fixture.courierURL().replacing("http://emulator.invalid", with: "")
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    let wire = try Wire(port: try await server.start())

    for _ in 0..<2 {
      wire.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      let nothing = try #require(await wire.receive())
      #expect(nothing.head.hasPrefix("HTTP/1.1 200") && nothing.body.isEmpty)
    }
    try await server.stop()
  }

  @Test func `a poll ends with its connection, and does not hold up the end of the server`() async throws {
    let fixture = try Fixture.withZone()
    let path = try fixture.courierURL().replacing("http://emulator.invalid", with: "")
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    let port = try await server.start()
    var wire: Wire? = try Wire(port: port)
    wire?.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await fixture.waitForPolls(1)
    wire = nil
    while fixture.emulator.waitingPolls > 0 { try? await Task.sleep(for: .milliseconds(2)) }

    let other = try Wire(port: port)
    other.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await fixture.waitForPolls(1)
    try await server.stop(grace: .seconds(30))
    #expect(fixture.emulator.waitingPolls == 0)
  }
}
