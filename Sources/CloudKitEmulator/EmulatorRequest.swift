public import Foundation

/// One HTTP request as the emulator sees it.
public struct EmulatorRequest: Sendable {
  /// `GET`, `POST` or `OPTIONS`.
  public var method: String
  /// The path as received, still percent-encoded, without the query.
  public var path: String
  /// The query as received, without its question mark. May hold secrets.
  public var query: String
  /// Header fields; names are compared without regard to case.
  public var headers: [EmulatorHeader]
  /// The body as received: signatures are checked over these bytes.
  public var body: Data
  /// What holds the body instead, where it is a file on its way into the emulator's own file.
  var spool: Spool?

  /// Makes a request.
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

  /// Where the caller reached the emulator, so that URLs in answers lead back to it; a host that does not exist where
  /// the request came without sockets.
  var baseURL: String {
    guard let host = header("host"), !host.isEmpty, host.utf8.count <= 255, host.utf8.allSatisfy(Self.isHostByte)
    else { return "http://emulator.invalid" }
    return "http://\(host)"
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]")].contains(byte)
    }
  }
}

/// One HTTP header field.
public struct EmulatorHeader: Sendable, Hashable {
  /// The name.
  public var name: String
  /// The value.
  public var value: String

  /// Makes a header field.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// What becomes of a request.
public struct EmulatorReply: Sendable {
  /// How the exchange ends.
  public enum Outcome: Sendable {
    /// An HTTP answer.
    case respond(EmulatorResponse)
    /// The connection closes in the middle of the body of this answer.
    case truncate(EmulatorResponse)
    /// There is no connection: the request never arrived.
    case offline
    /// The connection closes unanswered; the flag tells whether the request had taken effect by then.
    case drop(committed: Bool)
    /// The answer is not there yet: `Emulator.reply(to:)` waits for it.
    case hold(EmulatorHold)
  }

  /// How the exchange ends.
  public var outcome: Outcome
  /// How long to hold the outcome back.
  public var delay: Duration
  /// What a request log may print; holds no secrets.
  public var summary: EmulatorSummary

  /// The answer, where there is one.
  public var response: EmulatorResponse? {
    if case .respond(let response) = outcome { response } else { nil }
  }
}

/// An HTTP answer.
public struct EmulatorResponse: Sendable {
  /// The HTTP status code.
  public var status: Int
  /// Header fields in order.
  public var headers: [EmulatorHeader]
  /// The body.
  public var body: Data
  /// The file that is the body, while its bytes are still where they are kept.
  var asset: StoredAsset?

  var bodyCount: Int { asset?.size ?? body.count }

  init(status: Int, headers: [EmulatorHeader], body: Data, asset: StoredAsset? = nil) {
    self.status = status
    self.headers = headers
    self.body = body
    self.asset = asset
  }

  /// The first value of a header field, its name compared without regard to case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// Bytes that the emulator keeps.
struct StoredAsset: Sendable {
  var id: String
  var size: Int
}

/// One line of a request log.
public struct EmulatorSummary: Sendable, Hashable {
  /// The HTTP method.
  public var method: String
  /// The path without its query, in which tokens travel.
  public var path: String
  /// E.g. `records/modify`; `sign-in`, `poll`, `upload`, `download` and `admin` outside the service's own paths, and
  /// `unknown` for a path that leads nowhere.
  public var operation: String
  /// `public`, `private` or `shared`; empty for an unknown path.
  public var database: String
  /// How many items the request carried (operations, records or zones).
  public var items: Int
  /// `200`, `200 (3 errors)`, `429 THROTTLED`, `dropped`, `dropped after commit`, `offline`, `200 truncated`; of a poll
  /// also `held` and, when its time is over, `200 keep-alive`; `500 INTERNAL_ERROR (…)` with what is wrong with the data
  /// file.
  public var result: String
  /// The faults that struck, e.g. `rule 2: throttled`.
  public var faults: [String]
}
