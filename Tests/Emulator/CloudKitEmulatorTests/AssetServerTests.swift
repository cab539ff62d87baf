import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(40))) struct AssetServerTests {
  /// Uploads what `send` writes as a request's headers and body to the address given, and reads it back from a server.
  private static func roundTrip(
    _ fixture: Fixture,
    _ send: (Wire, _ address: Substring) -> Void,
    _ receive: (Wire) async -> Void
  ) async throws {
    try fixture.createZone("notes")
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    let wire = try Wire(port: try await server.start())
    wire.post(
      "assets/upload",
      #"{"zoneID":{"zoneName":"notes"},"tokens":[{"recordName":"a","recordType":"Note","fieldName":"photo"}]}"#
    )
    let tokens = try #require(await wire.receive()).body
    send(wire, try #require(tokens.firstMatch(of: /"url":"http:\/\/localhost([^"]*)"/)?.1))
    let answer = try #require(await wire.receive())
    let file = try #require(answer.body.firstMatch(of: /{"singleFile":({[^}]*})}/)?.1)
    _ = try fixture.modify(Fixture.save("a", Fixture.asset(String(file))))
    let download = try fixture.downloadURL("a").replacing("http://emulator.invalid", with: "")
    wire.send("GET \(download) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await receive(wire)
    try await server.stop()
  }

  @Test(arguments: [false, true])
  func `a file of 3 MB goes through the server under its own address`(isKeptInFile: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let path = isKeptInFile ? directory.appendingPathComponent("data.sqlite").path : nil
      let content = String(repeating: "0123456789", count: 300_000)

      try await Self.roundTrip(try Fixture(path: path)) { wire, address in
        wire.send(
          "POST \(address) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
        )
      } _: { wire in
        #expect(await wire.receive()?.body == content)
      }
    }
  }

  @Test func `an upload that comes in pieces is kept whole and in order`() async throws {
    try await withTemporaryDirectory { directory in
      let content = (0..<200_000).map { String($0) }.joined(separator: " ")
      var random = SplitMix64(seed: 3)

      try await Self.roundTrip(try Fixture(path: directory.appendingPathComponent("data.sqlite").path)) {
        wire,
        address in
        wire.send("POST \(address) HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        var rest = content.utf8[...]
        while !rest.isEmpty {
          let piece = rest.prefix(Int.random(in: 1...60_000, using: &random))
          rest = rest.dropFirst(piece.count)
          wire.send("\(String(piece.count, radix: 16))\r\n\(Substring(piece))\r\n")
        }
        wire.send("0\r\n\r\n")
      } _: { wire in
        #expect(await wire.receive()?.body == content)
      }
    }
  }

  @Test func `an upload is written away from the event loops, and needs no memory beside the pieces`() async throws {
    try await withTemporaryDirectory { directory in
      // A whole file would not fit. A write on an event loop ends the process.
      var configuration = EmulatorConfiguration()
      configuration.openBodiesLimit = 4_000_000
      let content = String(repeating: "0123456789", count: 2_000_000)
      let fixture = try Fixture(configuration, path: directory.appendingPathComponent("data.sqlite").path)

      try await Self.roundTrip(fixture) { wire, address in
        wire.send(
          "POST \(address) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)"
        )
      } _: { wire in
        #expect(await wire.receive()?.body == content)
      }
    }
  }

  @Test func `the part of a form is found in a file, too`() async throws {
    try await withTemporaryDirectory { directory in
      let content = String(repeating: "0123456789", count: 200_000)
      let body =
        "--edge\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n"
        + "--edge\r\nContent-Disposition: form-data; name=\"files\"; filename=\"f\"\r\n\r\n\(content)\r\n--edge--\r\n"

      try await Self.roundTrip(try Fixture(path: directory.appendingPathComponent("data.sqlite").path)) {
        wire,
        address in
        wire.send(
          "POST \(address) HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=edge\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
      } _: { wire in
        #expect(await wire.receive()?.body == content)
      }
    }
  }

  @Test func `50 MB come and go through less than 20 MB of memory where there is a file`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      // A process of its own, so that nobody else's memory counts.
      await #expect(processExitsWith: .success) { [path = path as String] in
        let size = 50 * 1024 * 1024
        let block = [UInt8](repeating: 7, count: 1 << 16)
        var before = 0
        try await AssetServerTests.roundTrip(try Fixture(path: path)) { wire, address in
          before = peakMemory()
          wire.send("POST \(address) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(size)\r\n\r\n")
          for _ in 0..<size / block.count { wire.send(block) }
        } _: { wire in
          let count = await wire.receiveBody()
          precondition(count == size, "\(count) of \(size) bytes came back")
        }
        let extra = peakMemory() - before
        precondition(extra < 20 * 1024 * 1024, "it took \(extra) bytes")
      }
    }
  }
}

/// The most memory that this process has had, in bytes.
private func peakMemory() -> Int {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  return status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) }.map { $0 * 1024 } ?? 0
}
