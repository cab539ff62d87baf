import CloudKit
import Foundation
import TestSupport
import Testing

@testable import CloudKitWebServices

/// No bytes of a reply end the process: each reply is a response or an error.
@Suite(.serialized) struct ReplyHeadTests {
  private func outcome(
    _ port: Int,
    proxied: Bool = false,
    path: String = "/database/1/iCloud.test/development/public/records/query"
  ) async -> Result<CKTransportResponse, CKTransportError> {
    let environment = proxied ? ["HTTPS_PROXY": "http://127.0.0.1:\(port)"] : [:]
    let transport = CKHTTPTransport(
      baseURL: URL(string: proxied ? "https://api.example.org" : "http://127.0.0.1:\(port)")!,
      timeout: .seconds(60),
      proxies: ProxySettings(environment: environment)
    )
    do throws(CKTransportError) {
      return .success(try await transport.send(CKTransportRequest(method: "POST", path: path, body: Data("{}".utf8))))
    } catch {
      return .failure(error)
    }
  }

  @Test(arguments: ["000", "001", "099"])
  func `a status below 100 is an error whose effect is unknown`(status: String) async throws {
    let head = "HTTP/1.1 \(status) Odd\r\nContent-Length: 2\r\n\r\n{}"

    let result = try await RawServer.run(answering: { _ in [Array(head.utf8)] }) { await outcome($0.port) }

    guard case .failure(let error) = result else {
      Issue.record("It was taken for a response.")
      return
    }
    #expect(error.delivery == .unknown)
  }

  @Test(arguments: 0..<120 as Range<UInt64>)
  func `whatever head arrives, a request ends`(_ seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let heads = (0..<5).map { _ in Self.head(&random) }
    let isProxied = seed % 4 == 0

    try await RawServer.run { connection in
      var generator = SplitMix64(seed: seed &+ UInt64(connection))
      return heads.count < connection ? [] : heads[connection - 1].inPieces(&generator)
    } _: { server in
      for _ in heads {
        if case .success(let response) = await outcome(server.port, proxied: isProxied) {
          #expect((100...999).contains(response.status))
          let refusal = WebServicesError(refusal: response, now: Date(timeIntervalSince1970: 1_767_322_800))
          #expect(refusal.reason.count <= 500 && refusal.retryAfter.map { $0 >= 0 && $0.isFinite } ?? true)
        }
      }
    }
  }

  private static let samples = [
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nRetry-After: Sun, 06 Nov 2094 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nbytes of another protocol",
    "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\nRetry-After: 5\r\n\r\n2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    "HTTP/1.0 421 Misdirected\r\nDate: Sunday, 06-Nov-94 08:49:37 GMT\r\n\r\n<html>",
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\nX-Apple-CloudKit-Web-Auth-Token: a+b/c\r\n\r\n",
  ]

  /// A head that was right before some of its bytes were changed.
  private static func head(_ random: inout SplitMix64) -> [UInt8] {
    var bytes = Array(samples[Int.random(in: 0..<samples.count, using: &random)].utf8)
    if Bool.random(using: &random) {
      // The digits of the status are where the most happens.
      for place in 9..<12 { bytes[place] = UInt8.random(in: 0x30...0x39, using: &random) }
    }
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let place = Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes.insert(Array("\r\n: 09,-\0".utf8).randomElement(using: &random) ?? 0, at: place)
      case 2: if bytes.count > 1 { bytes.remove(at: place) }
      default: bytes.insert(contentsOf: bytes[place...].prefix(40), at: place)
      }
    }
    return bytes
  }
}

extension [UInt8] {
  fileprivate func inPieces(_ random: inout SplitMix64) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = self[...]
    while !rest.isEmpty {
      let size = Int.random(in: 1...rest.count, using: &random)
      pieces.append(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    return pieces
  }
}
