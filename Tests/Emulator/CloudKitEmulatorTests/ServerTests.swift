import CloudKitEmulator
import Foundation
import Synchronization
import Testing

/// A plain blocking HTTP client on one connection: what it sends and reads is exactly what is on the wire.
///
/// `@unchecked Sendable`: a test waits for each answer before it goes on.
final class Wire: @unchecked Sendable {
  private let socket: Int32
  private var buffer: [UInt8] = []

  init(port: Int) throws {
    socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0)
    // A server that never answers fails a test instead of blocking its thread for good.
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(socket) }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ all: [UInt8]) {
    var bytes = all[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  func post(_ operation: String, _ body: String = "{}", query: String = Fixture.ana) {
    send(
      "POST /database/1/iCloud.test/development/private/\(operation)?\(query) HTTP/1.1\r\nHost: localhost\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    )
  }

  /// Head and body of the next answer; `nil` at the end of the connection.
  ///
  /// It is waited for on a thread of its own: those of the test tasks are few, and the server needs them.
  func receive() async -> (head: String, body: String)? {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.receiveHere()) }
    }
  }

  /// What came without making a whole answer.
  var left: String { String(decoding: buffer, as: UTF8.self) }

  /// The number of bytes in the body of the next answer, which is not kept.
  func receiveBody() async -> Int {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.count()) }
    }
  }

  private func count() -> Int {
    var (head, length, count) = ("", Int.max, 0)
    var chunk = [UInt8](repeating: 0, count: 65536)
    while count < length {
      let received = recv(socket, &chunk, chunk.count, 0)
      guard received > 0 else { break }
      count += received
      guard length == .max else { continue }
      head += String(decoding: chunk[..<received], as: UTF8.self)
      guard let end = head.range(of: "\r\n\r\n") else { continue }
      length = head.firstMatch(of: /[Cc]ontent-[Ll]ength: (\d+)/).flatMap { Int($0.1) } ?? 0
      count -= head[..<end.upperBound].utf8.count
    }
    return count
  }

  /// The same on the thread that asks, which has nothing else to do.
  func receiveHere() -> (head: String, body: String)? {
    while true {
      let text = String(decoding: buffer, as: UTF8.self)
      if let end = text.range(of: "\r\n\r\n") {
        let head = String(text[..<end.lowerBound])
        let length = head.firstMatch(of: /[Cc]ontent-[Ll]ength: (\d+)/).flatMap { Int($0.1) } ?? 0
        let start = head.utf8.count + 4
        if buffer.count >= start + length {
          let body = String(decoding: buffer[start..<start + length], as: UTF8.self)
          buffer.removeFirst(start + length)
          return (head, body)
        }
      }
      var chunk = [UInt8](repeating: 0, count: 65536)
      let count = recv(socket, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      buffer += chunk[..<count]
    }
  }
}

@Suite(.serialized, .timeLimit(.minutes(40))) struct ServerTests {
  func serve(
    _ fixture: Fixture,
    delay: Duration = .zero,
    log: (@Sendable (EmulatorServer.LogEntry) -> Void)? = nil,
    _ body: (Int) async throws -> Void
  ) async throws {
    let server = EmulatorServer(fixture.emulator, now: { fixture.now }, delay: delay, log: log)
    let port = try await server.start()
    try await body(port)
    try await server.stop()
  }

  @Test func `one connection carries many requests, also sent ahead of the answers`() async throws {
    let fixture = try Fixture()
    try await serve(fixture) { port in
      let wire = try Wire(port: port)
      wire.post("zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"notes"}}}]}"#)
      #expect(await wire.receive()?.body.contains("notes") == true)
      for number in 0..<5 {
        wire.post("records/modify", #"{"zoneID":{"zoneName":"notes"},"operations":[\#(Fixture.save("n\(number)"))]}"#)
      }
      for number in 0..<5 {
        let answer = try #require(await wire.receive())
        #expect(answer.head.hasPrefix("HTTP/1.1 200 OK") && answer.body.contains("n\(number)"))
      }
      wire.send(
        "GET /database/1/iCloud.test/development/private/zones/list?\(Fixture.ana) HTTP/1.1\r\nConnection: close\r\n\r\n"
      )
      #expect(try #require(await wire.receive()).head.contains("X-Apple-CloudKit-Web-Auth-Token: ana~1"))
      #expect(await wire.receive() == nil)
    }
  }

  @Test func `a request line of 16 kB passes`() async throws {
    try await serve(try Fixture()) { port in
      let wire = try Wire(port: port)
      wire.post("zones/list", query: Fixture.ana + "&ignored=" + String(repeating: "x", count: 16_384))
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 200 OK") == true)
    }
  }

  @Test func `a body beyond the limit is refused and the connection lives on`() async throws {
    var configuration = EmulatorConfiguration()
    configuration.bodySizeLimit = 1000
    try await serve(try Fixture(configuration)) { port in
      let wire = try Wire(port: port)
      wire.post("records/query", String(repeating: " ", count: 500_000))
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 413") == true)
      wire.post("zones/list")
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 200") == true)
    }
  }

  @Test func `a dropped request closes the connection without an answer`() async throws {
    let fixture = try Fixture.withZone()
    fixture.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(limit: 1), then: .dropAfterCommit)])
    try await serve(fixture) { port in
      let wire = try Wire(port: port)
      wire.post("records/modify", #"{"zoneID":{"zoneName":"notes"},"operations":[\#(Fixture.save("a"))]}"#)
      #expect(await wire.receive() == nil)
      #expect(fixture.emulator.recordCount() == 1)
    }
  }

  @Test func `what is no HTTP is answered 400 or dropped, and the server goes on`() async throws {
    try await serve(try Fixture()) { port in
      let noise = try Wire(port: port)
      noise.send("\u{16}\u{3}\u{1} nonsense\r\n\r\n")
      #expect(await noise.receive()?.head.hasPrefix("HTTP/1.1 400") == true)
      let wire = try Wire(port: port)
      wire.post("zones/list")
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 200") == true)
    }
  }

  @Test func `the log names operation, items and outcome, and never a token`() async throws {
    let entries = Mutex<[EmulatorServer.LogEntry]>([])
    let fixture = try Fixture.withZone()
    try await serve(fixture, delay: .milliseconds(1), log: { entry in entries.withLock { $0.append(entry) } }) { port in
      let wire = try Wire(port: port)
      wire.post(
        "records/modify",
        #"{"zoneID":{"zoneName":"notes"},"operations":[\#(Fixture.save("a"))]}"#,
        query: "ckAPIToken=hush&ckWebAuthToken=hush"
      )
      _ = await wire.receive()
    }

    let entry = try #require(entries.withLock { $0 }.first)
    #expect(entry.summary.operation == "records/modify" && entry.summary.items == 1)
    #expect(entry.summary.result == "404 ZONE_NOT_FOUND")
    #expect(entry.milliseconds >= 1)
    #expect(!"\(entry)".contains("hush"))
  }

  @Test func `stopping does not wait forever for a request that never ends`() async throws {
    let server = EmulatorServer(try Emulator())
    let wire = try Wire(port: try await server.start())
    wire.send("POST /database/1/iCloud.test/development/private/zones/list HTTP/1.1\r\nContent-Length: 10\r\n\r\n{")

    try await server.stop(grace: .milliseconds(50))

    #expect(await wire.receive() == nil)
  }

  @Test func `the page that a redirectURL names is there`() async throws {
    try await serve(try Fixture()) { port in
      let wire = try Wire(port: port)
      wire.post("zones/list", query: "ckAPIToken=token")
      let refusal = try #require(await wire.receive())
      let url = try #require(refusal.body.firstMatch(of: /"redirectURL":"http:\/\/localhost([^"]*)"/)?.1)
      wire.send("GET \(url) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      #expect(try #require(await wire.receive()).body.contains("ckWebAuthToken"))
    }
  }

  @Test func `long answers are compressed for those who ask, files never`() async throws {
    let fixture = try Fixture.withZone()
    try fixture.fill(100)
    _ = try fixture.modify(
      Fixture.save("a", Fixture.asset(try fixture.upload(String(repeating: "x", count: 5000), "a")))
    )
    try await serve(fixture) { port in
      let wire = try Wire(port: port)
      let ask = { (operation: String, body: String, header: String) in
        wire.send(
          "POST /database/1/iCloud.test/development/private/\(operation)?\(Fixture.ana) HTTP/1.1\r\nHost: localhost\r\n"
            + "\(header)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        return try #require(await wire.receive())
      }
      let query = #"{"zoneID":{"zoneName":"notes"},"query":{"recordType":"Note"}}"#

      let plain = try await ask("records/query", query, "")
      let packed = try await ask("records/query", query, "Accept-Encoding: gzip\r\n")
      let short = try await ask("zones/list", "{}", "Accept-Encoding: gzip\r\n")
      let download = try fixture.downloadURL("a").replacing("http://emulator.invalid", with: "")
      wire.send("GET \(download) HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
      let file = try #require(await wire.receive())

      #expect(!plain.head.lowercased().contains("content-encoding") && plain.body.hasPrefix("{"))
      #expect(packed.head.lowercased().contains("content-encoding: gzip"))
      #expect(packed.body.count < plain.body.count / 4)
      #expect(short.body.hasPrefix("{") && file.body.count == 5000)
    }
  }

  @Test func `who asks whether to go on is told to, compression or not`() async throws {
    try await serve(try Fixture()) { port in
      let wire = try Wire(port: port)
      for _ in 0..<2 {
        wire.send(
          "POST /database/1/iCloud.test/development/private/zones/list?\(Fixture.ana) HTTP/1.1\r\nHost: localhost\r\n"
            + "Accept-Encoding: gzip\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 100") == true)
        wire.send("{}")
        #expect(await wire.receive()?.body.contains("_defaultZone") == true)
      }
    }
  }

  @Test func `only the loopback interface is served`() async throws {
    let server = EmulatorServer(try Emulator())

    await #expect(throws: EmulatorServer.StartError.self) { try await server.start(host: "0.0.0.0") }
  }
}
