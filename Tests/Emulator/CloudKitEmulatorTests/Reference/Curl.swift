import CloudKitEmulator
import Crypto
import Foundation
import Testing

/// Requests and answers as `curl` has them: texts, with nothing of the emulator's or the client's in between.
struct Curl {
  let fixture: Fixture

  init(_ configuration: EmulatorConfiguration = EmulatorConfiguration()) throws {
    fixture = try Fixture(configuration)
  }

  static let base = "/database/1/iCloud.test/development"

  /// Sends a request; a body makes it a POST.
  func callAsFunction(
    _ path: String,
    _ body: String? = nil,
    query: String = Fixture.ana,
    method: String? = nil,
    type: String = "application/json",
    headers: [EmulatorHeader] = []
  ) throws -> Answer {
    fixture.pass(1)
    let request = EmulatorRequest(
      method: method ?? (body == nil ? "GET" : "POST"),
      path: path.hasPrefix("/") ? path : "\(Self.base)/\(path)",
      query: query,
      headers: [EmulatorHeader("Content-Type", type)] + headers,
      body: Data((body ?? "").utf8)
    )
    return Answer(try #require(fixture.emulator.handle(request, at: fixture.now).response))
  }
}

extension Curl {
  private static let key = P256.Signing.PrivateKey()

  /// A configuration that knows the server-to-server key of these tests.
  static func knowingKey() throws -> EmulatorConfiguration {
    var configuration = EmulatorConfiguration()
    configuration.serverKeys = [try ServerKey(key.publicKey.pemRepresentation)]
    return configuration
  }

  /// Sends a request as a server does: signed, and without credentials in the query.
  func signed(_ path: String, _ body: String) throws -> Answer {
    let date = "2026-01-02T03:00:00Z"
    let hash = Data(SHA256.hash(data: Data(body.utf8))).base64EncodedString()
    let whole = path.hasPrefix("/") ? path : "\(Self.base)/\(path)"
    let signature = try Self.key.signature(for: Data("\(date):\(hash):\(whole)".utf8)).derRepresentation
    let headers = [
      EmulatorHeader("X-Apple-CloudKit-Request-KeyID", try ServerKey(Self.key.publicKey.pemRepresentation).keyID),
      EmulatorHeader("X-Apple-CloudKit-Request-ISO8601Date", date),
      EmulatorHeader("X-Apple-CloudKit-Request-SignatureV1", signature.base64EncodedString()),
    ]
    return try self(path, body, query: "", headers: headers)
  }
}

extension Answer {
  /// Where the answer does not hold what a text of JSON shows; empty where it does. Objects may hold more than is shown,
  /// lists may not, and `"*"` stands for anything but nothing.
  func lacks(_ pattern: String) -> [String] {
    guard let expected = try? JSONSerialization.jsonObject(with: Data(pattern.utf8), options: .fragmentsAllowed) else {
      return ["the pattern is no JSON"]
    }
    return Self.differences(expected, object, "")
  }

  private static func differences(_ expected: Any, _ found: Any?, _ path: String) -> [String] {
    switch (expected, found) {
    case ("*" as String, let found?): return found is NSNull ? ["\(path) is null"] : []
    case (let expected as [String: Any], let found as [String: Any]):
      return expected.keys.sorted().flatMap { differences(expected[$0] ?? NSNull(), found[$0], "\(path).\($0)") }
    case (let expected as [Any], let found as [Any]):
      guard expected.count == found.count else { return ["\(path) has \(found.count) elements"] }
      return expected.indices.flatMap { differences(expected[$0], found[$0], "\(path)[\($0)]") }
    case (_ as NSNull, nil): return []
    case (let expected as NSObject, let found as NSObject) where expected == found: return []
    default: return ["\(path) is \(found.map { "\($0)" } ?? "missing"), not \(expected)"]
    }
  }
}
