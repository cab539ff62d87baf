import CloudKitEmulator
import Foundation
import Testing

/// Which web pages may send requests over HTTP.
struct WebAccessTests {
  private static let list = "/database/1/iCloud.test/development/private/zones/list?\(Fixture.ana)"

  /// The status of a request and whether a browser may read the reply.
  private static func ask(_ wire: Wire, _ headers: [String]) async throws -> (status: String, isReadable: Bool) {
    let lines = headers.map { "\($0)\r\n" }.joined()
    wire.send("POST \(list) HTTP/1.1\r\n\(lines)Content-Length: 2\r\n\r\n{}")
    let head = try #require(await wire.receive()).head
    return (String(head.split(separator: " ")[1]), head.contains("Access-Control-Allow-Origin"))
  }

  @Test func `pages of this machine, of the server itself and of allowed origins get in, and no others`() async throws {
    try await Fixture.serve({ $0.allowedOrigins = ["https://app.example.org"] }) { _, port in
      let wire = try Wire(port: port)
      let admitted = [
        "http://localhost", "http://localhost:3000", "https://127.0.0.1:8443", "http://[::1]:5173",
        "http://127.0.0.1:\(port)", "https://app.example.org", "https://APP.example.org:443",
      ]
      for origin in admitted {
        let answer = try await Self.ask(wire, ["Host: 127.0.0.1:\(port)", "Origin: \(origin)"])
        #expect(answer == ("200", true), "\(origin)")
      }
      let refused = [
        "null", "https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "file://",
        "https://app.example.org:444", "http://app.example.org", "localhost", "",
      ]
      for origin in refused {
        let answer = try await Self.ask(wire, ["Host: 127.0.0.1:\(port)", "Origin: \(origin)"])
        #expect(answer == ("403", false), "\(origin)")
      }
    }
  }

  @Test func `a page without access is refused before its body arrives, which is never kept`() async throws {
    try await Fixture.serve({ $0.openBodiesLimit = 1000 }) { _, port in
      let wire = try Wire(port: port)
      wire.send(
        "POST \(Self.list) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nOrigin: https://evil.example\r\nContent-Length: 500000\r\n\r\n"
      )
      #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 403") == true)
      // The connection goes on behind the body.
      wire.send(String(repeating: "x", count: 500_000))
      #expect(try await Self.ask(wire, ["Host: 127.0.0.1:\(port)"]) == ("200", false))
    }
  }

  @Test func `the admin endpoint refuses before the body, too`() async throws {
    let emulator = try Emulator()
    let server = EmulatorServer(emulator, admin: AdminAccess(token: "secret"))
    let wire = try Wire(port: try await server.start())
    wire.send("PUT /emulator/faults HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n")

    #expect(await wire.receive()?.head.hasPrefix("HTTP/1.1 401") == true)
    try await server.stop(grace: .zero)
  }

  @Test func `a request under another host name is refused while there is no authentication`() async throws {
    try await Fixture.serve { _, port in
      let wire = try Wire(port: port)
      #expect(try await Self.ask(wire, ["Host: evil.example"]).status == "403")
      #expect(try await Self.ask(wire, ["Host: evil.example", "Origin: http://evil.example"]).status == "403")
      #expect(try await Self.ask(wire, ["Host: LOCALHOST:\(port)"]).status == "200")
      #expect(try await Self.ask(wire, ["Host: [::1]:\(port)"]).status == "200")
    }
    try await Fixture.serve({ configuration in
      configuration.strictAuth = true
      configuration.apiTokens = ["t"]
    }) { _, port in
      // With authentication, a foreign name leads no further than any other.
      let answer = try await Self.ask(Wire(port: port), ["Host: sync.example.org"])
      #expect(answer.status == "401")
    }
  }

  @Test func `links and windows of other pages are refused, and the sign-in page has only known host names`()
    async throws
  {
    try await Fixture.serve({ configuration in
      configuration.strictAuth = true
      configuration.users = ["ana"]
      configuration.allowedOrigins = ["https://sync.example.org"]
    }) { _, port in
      let wire = try Wire(port: port)
      for (headers, status) in [
        (["Host: 127.0.0.1"], "200"), (["Host: 127.0.0.1", "Sec-Fetch-Site: none"], "200"),
        (["Host: 127.0.0.1", "Sec-Fetch-Site: same-origin"], "200"),
        (["Host: 127.0.0.1", "Sec-Fetch-Site: cross-site"], "403"),
        (["Host: 127.0.0.1", "Sec-Fetch-Site: cross-site", "Referer: https://evil.example/a"], "403"),
        (["Host: 127.0.0.1", "Sec-Fetch-Site: cross-site", "Referer: http://localhost:3000/a?b"], "200"),
        (["Host: evil.example"], "403"), (["Host: 10.0.2.2:\(port)"], "200"), (["Host: sync.example.org"], "200"),
      ] {
        let lines = headers.map { "\($0)\r\n" }.joined()
        wire.send("GET /sign-in?user=ana HTTP/1.1\r\n\(lines)\r\n")
        let head = try #require(await wire.receive()).head
        #expect(head.split(separator: " ")[1] == status, "\(headers)")
      }
    }
  }

  @Test func `beyond loopback, a server with a seed needs a secret`() async throws {
    var configuration = EmulatorConfiguration()
    configuration.strictAuth = true
    configuration.users = ["ana"]
    configuration.seed = 1
    await #expect(throws: EmulatorServer.StartError.self) {
      try await EmulatorServer(Emulator(configuration: configuration)).start(host: "0.0.0.0")
    }
    configuration.seed = nil
    let secrets = try (0..<2).map { _ in try Emulator(configuration: configuration).configuration.secret }
    #expect(secrets[0] != secrets[1] && secrets[0].utf8.count >= 43)
  }
}
