public import Foundation

/// An HTTP request to the emulator.
public struct EmulatorRequest: Sendable {
  /// `GET`, `POST` or `OPTIONS`.
  public var method: String
  /// The path as received, percent-encoded, without the query.
  public var path: String
  /// The query as received, without the question mark. May contain secrets.
  public var query: String
  /// The header fields. Names are compared without regard to case.
  public var headers: [EmulatorHeader]
  /// The body as received. Signatures are verified over these bytes.
  public var body: Data
  /// The file that has the body instead, if an upload is being streamed to the data file.
  var spool: Spool?

  /// Creates a request.
  public init(
    method: String = "POST",
    path: String,
    query: String = "",
    headers: [EmulatorHeader] = [],
    body: Data = Data()
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
  }

  func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name }?.value
  }

  /// The base of the URLs in the response, from the request's `Host`. An invalid host if the request was not made
  /// through a socket.
  var baseURL: String {
    guard let host = header("host"), !host.isEmpty, host.utf8.count <= 255,
      host.utf8.allSatisfy(Self.isHostByte)
    else { return "http://emulator.invalid" }
    return "http://\(host)"
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    // The digits and the colon, which follows them.
    case UInt8(ascii: "0")...UInt8(ascii: ":"): true
    case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "["), UInt8(ascii: "]"): true
    default: false
    }
  }
}

/// An HTTP header field.
public struct EmulatorHeader: Sendable, Hashable {
  /// The name.
  public var name: String
  /// The value.
  public var value: String

  /// Creates a header field.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The emulator's reply to a request.
public struct EmulatorReply: Sendable {
  /// The end of an exchange.
  public enum Outcome: Sendable {
    /// The server sends an HTTP response.
    case respond(EmulatorResponse)
    /// The connection closes in the middle of the body of this response.
    case truncate(EmulatorResponse)
    /// There is no connection; the request did not arrive.
    case offline
    /// The connection closes without a response. The flag says whether the request had taken effect.
    case drop(committed: Bool)
    /// The response is pending. `Emulator.reply(to:)` waits for it.
    case hold(EmulatorHold)
  }

  /// The end of the exchange.
  public var outcome: Outcome
  /// The time to wait before the outcome happens.
  public var delay: Duration
  /// The log entry of the request, without secrets.
  public var summary: EmulatorSummary

  /// The response, if there is one.
  public var response: EmulatorResponse? {
    if case .respond(let response) = outcome { response } else { nil }
  }
}

/// An HTTP response.
public struct EmulatorResponse: Sendable {
  /// The HTTP status code.
  public var status: Int
  /// The header fields in order.
  public var headers: [EmulatorHeader]
  /// The body.
  public var body: Data
  /// The file whose bytes are the body but are not loaded yet.
  var asset: StoredAsset?

  var bodyCount: Int { asset?.size ?? body.count }

  /// Returns the first value of a header field. The name is compared without regard to case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// A stored file.
struct StoredAsset: Sendable {
  var id: String
  var size: Int
}

/// The log entry of a request.
public struct EmulatorSummary: Sendable, Hashable {
  /// The HTTP method.
  public var method: String
  /// The path without the query, because the query contains tokens.
  public var path: String
  /// The operation, e.g. `records/modify`; `sign-in`, `poll`, `upload`, `download` and `admin` for other paths of the
  /// server; `unknown` for an unknown path.
  public var operation: String
  /// `public`, `private` or `shared`; empty outside the databases.
  public var database: String
  /// The number of items in the request, such as operations, records or zones.
  public var items: Int
  /// The result: `200`, `200 (3 errors)`, `429 THROTTLED`, `dropped`, `dropped after commit`, `offline`,
  /// `200 truncated`; for a poll also `held` and, at its end without a notification, `200 keep-alive`;
  /// `500 INTERNAL_ERROR (…)` with the problem of the data file.
  public var result: String
  /// The fault rules that applied, e.g. `rule 2: throttled`.
  public var faults: [String]
}
