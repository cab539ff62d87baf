import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(40))) struct AdminTests {
  private static func serve(
    _ fixture: Fixture,
    _ access: AdminAccess? = AdminAccess(),
    _ body: (Wire) async throws -> Void
  ) async throws {
    let server = EmulatorServer(fixture.emulator, now: { fixture.now }, admin: access)
    let port = try await server.start()
    try await body(try Wire(port: port))
    try await server.stop()
  }

  private static func ask(
    _ wire: Wire,
    _ method: String,
    _ path: String,
    _ body: String = "",
    header: String = ""
  ) async -> (status: String, body: String) {
    wire.send(
      "\(method) /emulator\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(header)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    )
    let answer = await wire.receive()
    return (answer?.head.split(separator: " ").dropFirst().first.map(String.init) ?? "", answer?.body ?? "")
  }

  @Test func `the state and the counts are to be seen, and the plan of faults to be changed`() async throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a"))
    try await Self.serve(fixture) { wire in
      let json = #"{"seed": 3, "rules": [{"when": {"operation": "zones/list"}, "then": "internalError"}]}"#

      #expect(await Self.ask(wire, "GET", "").body == AdminEndpoint.overview + "\n")
      #expect(await Self.ask(wire, "GET", "/state").body == fixture.emulator.dump())
      #expect(await Self.ask(wire, "PUT", "/faults", json).status == "200")
      let struck = try fixture.post("zones/list").status
      #expect(struck == 500)
      let statistics = await Self.ask(wire, "GET", "/statistics").body
      #expect(statistics.contains(#""faults":[{"action":"internalError","matched":1,"applied":1}]"#))
      #expect(statistics.contains(#""records":1"#))
      let kept = await Self.ask(wire, "GET", "/faults").body
      let plan = try FaultPlan(json: Data(kept.utf8))
      #expect(plan == fixture.emulator.faults)
      let wrong = await Self.ask(wire, "PUT", "/faults", #"{"rules":[{"then":"explode"}]}"#)
      #expect(wrong.status == "400" && wrong.body.contains("rules[1].then"))
      #expect(plan == fixture.emulator.faults)
    }
  }

  @Test func `a schema is imported, deployed and exported`() async throws {
    let fixture = try Fixture()
    try await Self.serve(fixture) { wire in
      let path = "/schema?container=iCloud.test"
      let imported = await Self.ask(wire, "PUT", path, "DEFINE SCHEMA RECORD TYPE Note (n INT64);")
      let wrong = await Self.ask(wire, "PUT", path, "DEFINE SCHEMA RECORD TYPE Note (n INT);")
      let before = await Self.ask(wire, "GET", path + "&environment=production").body
      let deployed = await Self.ask(wire, "POST", "/deploy?container=iCloud.test")

      #expect(imported.status == "200" && imported.body == fixture.emulator.exportSchema(container: "iCloud.test"))
      #expect(wrong.status == "400" && wrong.body.contains("line 1, column 35"))
      #expect(!before.contains("RECORD TYPE Note ("))
      #expect(deployed.body == imported.body)
      #expect(await Self.ask(wire, "GET", path + "&environment=production").body == imported.body)
      for path in ["/schema", "/schema?container=x", "/schema?container=iCloud.x&environment=moon"] {
        #expect(await Self.ask(wire, "PUT", path, "DEFINE SCHEMA").status == "400")
      }
    }
  }

  @Test func `a schema of up to 4 MB is read whole, a larger one is refused`() async throws {
    let fixture = try Fixture()
    try await Self.serve(fixture) { wire in
      let schema = { (spaces: Int) in
        "DEFINE SCHEMA\(String(repeating: " ", count: spaces))RECORD TYPE Note (n INT64);"
      }
      let path = "/schema?container=iCloud.test"
      #expect(await Self.ask(wire, "PUT", path, schema(3_900_000)).status == "200")
      #expect(fixture.emulator.exportSchema(container: "iCloud.test").contains("RECORD TYPE Note ("))
      #expect(await Self.ask(wire, "PUT", path, schema(4_000_000)).status == "413")
    }
  }

  @Test func `the network goes and comes back, throttling begins and ends`() async throws {
    let fixture = try Fixture.withZone()
    try await Self.serve(fixture) { wire in
      #expect(await Self.ask(wire, "POST", "/offline", #"{"offline": true}"#).status == "200")
      #expect(fixture.reply("zones/list").response == nil)
      #expect(await Self.ask(wire, "POST", "/offline", #"{"offline": false}"#).status == "200")
      #expect(await Self.ask(wire, "POST", "/throttle", #"{"seconds": 100}"#).status == "200")
      let throttled = try fixture.post("zones/list").status
      #expect(throttled == 429)
      #expect(await Self.ask(wire, "POST", "/throttle", #"{"seconds": 0}"#).status == "200")
      let answered = try fixture.post("zones/list").status
      #expect(answered == 200)
      for (path, body) in [("/offline", "{}"), ("/throttle", "seconds"), ("/advance", #"{"seconds": -1}"#)] {
        #expect(await Self.ask(wire, "POST", path, body).status == "400")
      }
      #expect(await Self.ask(wire, "GET", "/nothing").status == "404")
    }
  }

  @Test func `a state is kept under a name and put back`() async throws {
    let fixture = try Fixture.withZone()
    let before = fixture.emulator.dump()
    try await Self.serve(fixture) { wire in
      #expect(await Self.ask(wire, "POST", "/snapshot", #"{"name": "empty"}"#).status == "200")
      _ = try fixture.modify(Fixture.save("a"))
      #expect(fixture.emulator.dump() != before)

      #expect(await Self.ask(wire, "POST", "/restore", #"{"name": "none"}"#).status == "404")
      #expect(await Self.ask(wire, "POST", "/restore", #"{"name": "empty"}"#).status == "200")

      #expect(fixture.emulator.dump() == before)
      for number in 1..<20 { _ = await Self.ask(wire, "POST", "/snapshot", #"{"name": "s\#(number)"}"#) }
      #expect(await Self.ask(wire, "POST", "/snapshot", #"{"name": "s20"}"#).status == "400")
      #expect(await Self.ask(wire, "POST", "/snapshot", #"{"name": "s19"}"#).status == "200")
      #expect(await Self.ask(wire, "DELETE", "/snapshot?name=s19").status == "200")
      #expect(await Self.ask(wire, "DELETE", "/snapshot?name=s19").status == "404")
      #expect(await Self.ask(wire, "POST", "/snapshot", #"{"name": "s20"}"#).status == "200")
    }
  }

  @Test func `time passes for server and transport alike, and what expires has expired`() async throws {
    let fixture = try Fixture.withZone()
    let transport = EmulatorTransport(fixture.emulator, now: { fixture.now })
    try await Self.serve(fixture) { wire in
      wire.post("tokens/create", #"{"apnsEnvironment":"development"}"#)
      let address = try #require(
        await wire.receive()?.body.firstMatch(of: /"webcourierURL":"http:\/\/localhost([^"]*)"/)?.1
      )
      let token = try #require(address.split(separator: "?").last)

      let answer = await Self.ask(wire, "POST", "/advance", #"{"seconds": 43201}"#)

      #expect(answer.body.contains("43201") && fixture.emulator.timeAhead == .seconds(43201))
      wire.send("GET \(address) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 410") == true)
      let poll = CKTransportRequest(method: "GET", path: "/aps", query: String(token))
      let late = try await transport.send(poll).status
      #expect(late == 410)
    }
  }

  @Test func `without being opened the endpoint is not there`() async throws {
    try await Self.serve(try Fixture(), nil) { wire in
      #expect(await Self.ask(wire, "GET", "/state").status == "404")
    }
  }

  @Test func `a page in a browser does not get in, nor does a wrong token`() async throws {
    try await Self.serve(try Fixture()) { wire in
      #expect(await Self.ask(wire, "GET", "/state", header: "Origin: http://evil.example\r\n").status == "403")
      wire.send("GET /emulator/state HTTP/1.1\r\nHost: evil.example:80\r\n\r\n")
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 403") == true)
    }
    try await Self.serve(try Fixture(), AdminAccess(token: "sesame")) { wire in
      #expect(await Self.ask(wire, "GET", "/state").status == "401")
      #expect(await Self.ask(wire, "GET", "/state", header: "Authorization: Bearer sesamo\r\n").status == "401")
      #expect(await Self.ask(wire, "GET", "/state", header: "Authorization: Bearer sesame\r\n").status == "200")
    }
  }

  @Test func `strangers reach only a server that keeps them out`() async throws {
    var configuration = EmulatorConfiguration()
    configuration.strictAuth = true
    let empty = EmulatorServer(try Emulator(configuration: configuration))
    await #expect(throws: EmulatorServer.StartError.self) { try await empty.start(host: "0.0.0.0") }
    configuration.apiTokens = ["right"]
    let open = EmulatorServer(try Emulator(configuration: configuration), admin: AdminAccess())
    await #expect(throws: EmulatorServer.StartError.self) { try await open.start(host: "0.0.0.0") }
    let guarded = EmulatorServer(try Emulator(configuration: configuration), admin: AdminAccess(token: "sesame"))

    let wire = try Wire(port: try await guarded.start(host: "0.0.0.0"))
    wire.post("zones/list", query: "ckAPIToken=wrong&ckWebAuthToken=ana")

    #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 401") == true)
    try await guarded.stop()
  }
}
