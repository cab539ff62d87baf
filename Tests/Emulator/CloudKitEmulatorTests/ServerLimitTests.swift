import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@Suite(.serialized, .timeLimit(.minutes(40))) struct ServerLimitTests {
  private static func post(_ bytes: [UInt8], to path: String, _ wire: Wire, header: String = "") {
    wire.send(
      "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: gzip\r\n\(header)Content-Length: \(bytes.count)\r\n\r\n"
    )
    wire.send(bytes)
  }

  private static let list = "/database/1/iCloud.test/development/private/zones/list?\(Fixture.ana)"

  @Test func `a compressed request is understood`() async throws {
    try await Fixture.serve { _, port in
      let wire = try Wire(port: port)
      Self.post(
        Gzip.stored(#"{"zoneID":{"zoneName":"notes"},"operations":[\#(Fixture.save("a"))]}"#),
        to: "/database/1/iCloud.test/development/private/records/modify?\(Fixture.ana)",
        wire
      )
      #expect(await wire.receive()?.body.contains(#""recordName":"a""#) == true)
    }
  }

  @Test func `a small request that grows beyond every limit is too large`() async throws {
    try await Fixture.serve({ configuration in
      configuration.assetSizeLimit = 100_000
      configuration.allowedOrigins = ["http://page.example"]
    }) { _, port in
      for _ in 0..<2 {
        let wire = try Wire(port: port)
        Self.post(Gzip.bomb(zeros: 10_000_000), to: Self.list, wire, header: "Origin: http://page.example\r\n")
        let answer = try #require(await wire.receive())
        #expect(answer.head.hasPrefix("HTTP/1.1 413"))
        #expect(answer.head.contains("Access-Control-Allow-Origin: http://page.example"))
        #expect(await wire.receive() == nil)
      }
    }
  }

  @Test func `a request that says it is compressed and is not is a bad one`() async throws {
    try await Fixture.serve { _, port in
      let wire = try Wire(port: port)
      Self.post(Array("{}                  ".utf8), to: Self.list, wire)
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 400") == true)
      #expect(await wire.receive() == nil)
    }
  }

  @Test func `who falls silent in the middle of a request is given up, a poll is not`() async throws {
    // Neither the poll's own end nor a test that is woken late on a busy machine may decide.
    let change: (inout EmulatorConfiguration) -> Void = {
      $0.idleTimeout = .seconds(3)
      $0.courierKeepAlive = .seconds(3_600)
    }
    try await Fixture.serve(change) { fixture, port in
      _ = try fixture.subscribe(Fixture.querySubscription("q"))
      let poll = try Wire(port: port)
      let address = try fixture.courierURL().replacing("http://emulator.invalid", with: "")
      poll.send("GET \(address) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      await fixture.waitForPolls(1)
      let slow = try Wire(port: port)
      slow.send("POST \(Self.list) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
      let silent = try Wire(port: port)
      silent.send("POST /data")

      #expect(await slow.receive()?.head.hasPrefix("HTTP/1.1 408") == true)
      #expect(await slow.receive() == nil)
      #expect(await silent.receive() == nil)
      _ = try fixture.modify(Fixture.save("a"))
      #expect(await poll.receive()?.body.contains(#""rid":"a""#) == true)
    }
  }

  @Test func `one connection too many is turned away, and is welcome when another has gone`() async throws {
    try await Fixture.serve({ $0.connectionLimit = 2 }) { _, port in
      var wires = [try Wire(port: port), try Wire(port: port)]
      for wire in wires {
        wire.post("zones/list")
        #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 200") == true)
      }
      let late = try Wire(port: port)
      late.post("zones/list")
      #expect(await late.receive()?.head.hasPrefix("HTTP/1.1 503") == true)
      wires.removeAll()
      // The server learns of the end of a connection when it learns of it.
      while true {
        let next = try Wire(port: port)
        next.post("zones/list")
        if await next.receive()?.head.hasPrefix("HTTP/1.1 200") == true { break }
      }
    }
  }

  @Test func `the bodies of all open requests have one limit, and the room of one that ends is free again`()
    async throws
  {
    try await Fixture.serve({
      $0.openBodiesLimit = 1_500_000
      // On a busy machine an open request may be idle for long.
      $0.idleTimeout = .seconds(3600)
    }) { _, port in
      let body = String(repeating: " ", count: 1_000_000) + "{}"
      let head = "POST \(Self.list) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
      var first = try Wire(port: port)
      var isRefused = false
      while !isRefused {
        // It may have been refused itself, beside one of the others.
        first = try Wire(port: port)
        first.send(head + body.dropLast())
        // The other side of a socket is read when it is read.
        for _ in 1...50 where !isRefused {
          let second = try Wire(port: port)
          second.send(head + body)
          isRefused = try #require(await second.receive()).head.hasPrefix("HTTP/1.1 503")
        }
      }
      first.send("}")
      #expect(await first.receive()?.head.hasPrefix("HTTP/1.1 200") == true)
      let third = try Wire(port: port)
      third.send(head + body)
      #expect(await third.receive()?.head.hasPrefix("HTTP/1.1 200") == true)
    }
  }

  @Test func `a body that inflates counts with its full size`() async throws {
    try await Fixture.serve({ $0.openBodiesLimit = 100_000 }) { _, port in
      let wire = try Wire(port: port)
      for (size, status) in [(200_000, "503"), (90_000, "400"), (200_000, "503")] {
        let bytes = Gzip.zeros(size)
        #expect(bytes.count < 2000)
        Self.post(bytes, to: Self.list, wire)
        #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 \(status)") == true)
      }
    }
  }

  @Test func `headers beyond measure are refused`() async throws {
    try await Fixture.serve { _, port in
      for headers in [
        "X-Long: " + String(repeating: "x", count: 100_000) + "\r\n",
        (0..<300).map { "X-\($0): y\r\n" }.joined(),
      ] {
        let wire = try Wire(port: port)
        wire.send("POST \(Self.list) HTTP/1.1\r\nHost: localhost\r\n\(headers)Content-Length: 2\r\n\r\n{}")
        #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 400") == true)
      }
      let wire = try Wire(port: port)
      wire.post("zones/list")
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 200") == true)
    }
  }

  @Test func `a truncated answer promises more than it brings`() async throws {
    try await Fixture.serve { fixture, port in
      fixture.emulator.faults = FaultPlan(rules: [FaultRule(then: .truncateAnswer)])
      let wire = try Wire(port: port)
      wire.post("zones/list")
      #expect(await wire.receive() == nil)
      #expect(wire.left.hasPrefix("HTTP/1.1 200") && wire.left.contains(#"{"zones""#) && !wire.left.hasSuffix("}"))
    }
  }

  @Test func `every kind of answer tells a browser that it may read it`() async throws {
    try await Fixture.serve({ $0.allowedOrigins = ["http://page.example"] }) { fixture, port in
      fixture.emulator.faults = FaultPlan(
        rules: [FaultRule(when: FaultCondition(operation: "zones/lookup"), then: .badGateway())]
      )
      let paths = [
        Self.list, Self.list + "&x", "/nowhere", "/sign-in", "/assets/upload/x?ticket=y", "/assets/download/x/y",
        "/aps",
        "/database/1/iCloud.test/development/private/zones/lookup?\(Fixture.ana)",
        "/database/1/iCloud.test/development/private/zones/list?ckAPIToken=t",
      ]
      let wire = try Wire(port: port)
      for path in paths {
        for method in ["OPTIONS", "GET", "POST", "PUT"] {
          wire.send(
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nOrigin: http://page.example\r\nContent-Length: 0\r\n\r\n"
          )
          let head = try #require(await wire.receive()).head
          #expect(head.contains("Access-Control-Allow-Origin: http://page.example"), "\(method) \(path)")
          #expect(head.contains("Access-Control-Allow-Credentials: true"))
          #expect(method != "OPTIONS" || head.contains("Access-Control-Allow-Methods: GET, POST, PUT, DELETE"))
        }
      }
    }
  }
}
