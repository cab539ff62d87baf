import CloudKit
import Foundation
import TestSupport
import Testing

@testable import CloudKitWebServices

/// The proxy that the environment names.
@Suite(.serialized) struct ProxyTests {
  private func route(_ url: String, _ environment: [String: String]) -> ProxySettings.Route {
    ProxySettings(environment: environment).route(to: URL(string: url)!)
  }

  private static let proxy = ProxySettings.Route.proxy(ProxySettings.Proxy(host: "proxy.example", port: 3128))

  @Test(arguments: [
    ["HTTPS_PROXY": "http://proxy.example:3128"], ["https_proxy": "proxy.example:3128/"],
    ["https_proxy": "http://proxy.example:3128", "HTTPS_PROXY": "http://other.example:1"],
    ["https_proxy": "", "HTTPS_PROXY": "HTTP://proxy.example:3128"],
    ["HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": "example.com, apple.com.evil ,icloud.com:80"],
  ])
  func `requests over https go through the proxy`(environment: [String: String]) {
    #expect(route("https://api.apple-cloudkit.com/database", environment) == Self.proxy)
  }

  @Test(arguments: [
    "http://api.example.org", "https://127.0.0.1", "https://127.3.2.1:8443", "https://localhost:1", "https://[::1]:2",
  ])
  func `this machine and http are reached directly`(url: String) {
    #expect(route(url, ["HTTPS_PROXY": "http://proxy.example:3128"]) == .direct)
  }

  @Test(arguments: [
    ("*", true), ("example.org", true), (".example.org", true), ("*.example.org", true), ("API.Example.ORG", true),
    ("other, api.example.org", true), ("api.example.org:443", true), ("example.org:8443", false), ("ample.org", false),
    ("pi.example.org", false), ("", false), (",, ,", false),
  ])
  func `exceptions are names with all below them, and ports`(list: String, isDirect: Bool) {
    for name in ["NO_PROXY", "no_proxy"] {
      let route = route("https://api.example.org", ["HTTPS_PROXY": "http://proxy.example:3128", name: list])
      #expect(route == (isDirect ? .direct : Self.proxy))
    }
  }

  @Test func `addresses are exceptions too`() {
    func isDirect(_ url: String, _ list: String) -> Bool {
      route(url, ["HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": list]) == .direct
    }
    #expect(
      isDirect("https://[2001:db8::1]", "2001:db8::1") && isDirect("https://[2001:db8::1]:8443", "[2001:db8::1]:8443")
    )
    #expect(isDirect("https://10.1.2.3", "10.1.2.3") && !isDirect("https://10.1.2.3", "2.3"))
  }

  @Test func `a port, a user and a version 6 address are read`() {
    guard case .proxy(let proxy) = route("https://a.example", ["HTTPS_PROXY": "http://me:p%40ss@[2001:db8::1]"]) else {
      Issue.record("no proxy")
      return
    }

    #expect(proxy.host == "2001:db8::1" && proxy.port == 80)
    #expect(proxy.credentials == .init(user: "me", password: "p@ss"))
    #expect("\(proxy)" == "[2001:db8::1]:80")
    for text in ["\(proxy)", String(reflecting: proxy), "\(Mirror(reflecting: proxy).children.map { $0 })"] {
      #expect(!text.contains("p@ss"))
    }
  }

  @Test(arguments: [
    "socks5://u:SECRET@proxy:1080", "https://u:SECRET@proxy:443", "http://u:SECRET@", "http://SECRET:70000",
    "://SECRET",
  ])
  func `a proxy that cannot be used stops every request, with a reason that keeps its secrets`(text: String) async {
    let settings = ProxySettings(environment: ["HTTPS_PROXY": text])
    guard case .unusable(let reason) = settings.route(to: URL(string: "https://api.example.org")!) else {
      Issue.record("It is used.")
      return
    }
    #expect(reason.hasPrefix("HTTPS_PROXY ") && !reason.contains("SECRET"))

    let error = await failure(of: settings)
    #expect(error?.delivery == .notSent && error?.message.contains(reason) == true)
  }

  private func failure(of settings: ProxySettings) async -> CKTransportError? {
    let transport = CKHTTPTransport(baseURL: URL(string: "https://api.example.org")!, proxies: settings)
    do throws(CKTransportError) {
      _ = try await transport.send(CKTransportRequest(method: "POST", path: "/x", body: Data("{}".utf8)))
      return nil
    } catch {
      return error
    }
  }

  @Test func `requests, other servers and files all ask the proxy for a connection`() async throws {
    let refusal = Array("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".utf8)
    let scratch = try TemporaryFolder()
    let file = try scratch.file("a", "a")

    try await RawServer.run(answering: { _ in [refusal] }) { server in
      let settings = ProxySettings(environment: ["HTTPS_PROXY": "http://127.0.0.1:\(server.port)", "NO_PROXY": "x.y"])
      let error = await failure(of: settings)
      #expect(error?.delivery == .notSent)
      #expect(error?.message.hasPrefix("The proxy 127.0.0.1:\(server.port) for api.example.org ") == true)

      let transport = CKHTTPTransport(baseURL: URL(string: "https://api.example.org")!, proxies: settings)
      let courier = transport.transport(to: URL(string: "https://courier.example:443")!, timeout: .seconds(60))
      await #expect(throws: CKTransportError.self) {
        try await courier.send(CKTransportRequest(method: "GET", path: "/aps"))
      }
      let assets = transport.assetTransport
      await #expect(throws: CKTransportError.self) {
        try await assets.download(from: URL(string: "https://files.example/a")!, to: file, limit: 9)
      }
      await #expect(throws: CKTransportError.self) {
        try await assets.upload(file: file, to: URL(string: "https://up.example/a")!)
      }

      #expect(
        server.requests
          == ["api.example.org", "courier.example", "files.example", "up.example"].map {
            "CONNECT \($0):443 HTTP/1.1"
          }
      )
    }
  }

  @Test func `a proxy that cannot be reached, or wants a password, is named`() async throws {
    let closed = try ClosedPort()
    let refused = await failure(of: ProxySettings(environment: ["HTTPS_PROXY": "http://127.0.0.1:\(closed.port)"]))
    #expect(refused?.delivery == .notSent)
    #expect(refused?.message == "The proxy 127.0.0.1:\(closed.port) for api.example.org refused the connection.")

    let answer = Array("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n".utf8)
    let denied = try await RawServer.run(answering: { _ in [answer] }) { server in
      await failure(of: ProxySettings(environment: ["HTTPS_PROXY": "http://127.0.0.1:\(server.port)"]))
    }
    #expect(denied?.delivery == .notSent && denied?.message.contains("requires a user and a password") == true)
  }

  @Test func `files on this machine are not asked of a proxy`() async throws {
    let scratch = try TemporaryFolder()
    let file = try scratch.file("a", "")
    let settings = ProxySettings(environment: ["HTTPS_PROXY": "socks5://nowhere"])

    let status = try await LoopbackServer.run(.large(3)) { server in
      try await CKHTTPAssetTransport(proxies: settings)
        .download(from: URL(string: "http://127.0.0.1:\(server.port)/a")!, to: file, limit: 9).status
    }

    #expect(status == 202)
  }
}
