public import CloudKitWebServices
public import Foundation

/// A request with its outcome. A recording stores one exchange per line, as JSON.
///
/// Credentials are left out: the query and headers of the request, tokens and cookies in the response headers, push
/// tokens, and the queries of sign-in URLs and of the signed URLs of assets and of the web courier. The rest of the
/// bodies is stored, so a recording is as private as its records.
public struct CKExchange: Sendable, Hashable, Codable {
  /// `GET` or `POST`.
  public var method: String
  /// The path, percent-encoded, without the query.
  public var path: String
  /// The body that was sent.
  public var body: Data
  /// The outcome of the request.
  public var outcome: Outcome

  /// A response, or the reason that there is none.
  public enum Outcome: Sendable, Hashable {
    /// A complete response.
    case response(CKTransportResponse)
    /// No complete response arrived.
    case failure(CKTransportError)
  }

  /// Creates an exchange without its secrets.
  public init(_ request: CKTransportRequest, _ outcome: Outcome) {
    method = request.method
    path = request.path
    body = Self.redacted(request.body)
    switch outcome {
    case .response(var response):
      response.body = Self.redacted(response.body, isUpload: request.path.hasSuffix("/assets/upload"))
      response.headers.removeAll { Self.secretHeaders.contains($0.name.lowercased()) }
      self.outcome = .response(response)
    case .failure: self.outcome = outcome
    }
  }

  /// Members whose values give access to something by themselves.
  private static let secretMembers = ["apnsToken", "webcourierURL", "redirectURL", "downloadURL"]

  /// Returns a body of JSON without its secrets. URLs keep their host and path, so that a replayed request is found.
  static func redacted(_ body: Data, isUpload: Bool = false) -> Data {
    let members = secretMembers + (isUpload ? ["url"] : [])
    guard members.contains(where: { body.range(of: Data("\"\($0)\"".utf8)) != nil }) else { return body }
    guard let text = String(validating: body, as: UTF8.self) else { return body }
    var parts = text[...]
    var result = ""
    while let match = parts.firstMatch(
      of: /"(apnsToken|webcourierURL|redirectURL|downloadURL|url)"\s*:\s*"((?:[^"\\]|\\.)*)"/
    ) {
      result += parts[..<match.range.lowerBound]
      let name = String(match.output.1)
      let url = match.output.2
      let value =
        name == "apnsToken" ? "redacted" : url.contains("?") ? "\(url.prefix { $0 != "?" })?redacted" : String(url)
      result += members.contains(name) ? "\"\(name)\":\"\(value)\"" : parts[match.range]
      parts = parts[match.range.upperBound...]
    }
    return Data((result + parts).utf8)
  }

  private static let secretHeaders: Set<String> = [
    "x-apple-cloudkit-web-auth-token", "x-apple-cloudkit-session", "set-cookie",
  ]

  private enum Key: String, CodingKey {
    case method, path, text, base64, status, headers, answer, answerBase64, delivery, message
  }

  /// Decodes an exchange from a line of a recording.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    method = try container.decode(String.self, forKey: .method)
    path = try container.decode(String.self, forKey: .path)
    body = try Self.body(container, .text, .base64)
    if let status = try container.decodeIfPresent(Int.self, forKey: .status) {
      let headers = try container.decodeIfPresent([[String]].self, forKey: .headers) ?? []
      outcome = .response(
        CKTransportResponse(
          status: status,
          headers: headers.filter { $0.count == 2 }.map { CKHTTPHeader($0[0], $0[1]) },
          body: try Self.body(container, .answer, .answerBase64)
        )
      )
    } else {
      let delivery = try container.decode(CKTransportError.Delivery.self, forKey: .delivery)
      outcome = .failure(CKTransportError(delivery, try container.decode(String.self, forKey: .message)))
    }
  }

  /// Encodes an exchange as a line of a recording. Bodies in UTF-8 are encoded as text, others as Base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(method, forKey: .method)
    try container.encode(path, forKey: .path)
    try Self.encode(body, into: &container, .text, .base64)
    switch outcome {
    case .response(let response):
      try container.encode(response.status, forKey: .status)
      try container.encode(response.headers.map { [$0.name, $0.value] }, forKey: .headers)
      try Self.encode(response.body, into: &container, .answer, .answerBase64)
    case .failure(let error):
      try container.encode(error.delivery, forKey: .delivery)
      try container.encode(error.message, forKey: .message)
    }
  }

  private static func body(_ container: KeyedDecodingContainer<Key>, _ text: Key, _ base64: Key) throws -> Data {
    if let text = try container.decodeIfPresent(String.self, forKey: text) { return Data(text.utf8) }
    return try container.decodeIfPresent(Data.self, forKey: base64) ?? Data()
  }

  private static func encode(
    _ body: Data,
    into container: inout KeyedEncodingContainer<Key>,
    _ text: Key,
    _ base64: Key
  ) throws {
    if body.isEmpty { return }
    if let readable = String(validating: body, as: UTF8.self) {
      try container.encode(readable, forKey: text)
    } else {
      try container.encode(body, forKey: base64)
    }
  }
}

extension CKTransportError.Delivery: Codable {
  private static let words: [(CKTransportError.Delivery, String)] = [
    (.notSent, "notSent"), (.unknown, "unknown"), (.cancelled, "cancelled"),
  ]

  /// Decodes the name.
  public init(from decoder: any Decoder) throws {
    let word = try decoder.singleValueContainer().decode(String.self)
    // A name from a later version is read as "unknown", the safe default.
    self = Self.words.first { $0.1 == word }?.0 ?? .unknown
  }

  /// Encodes the name.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Self.words.first { $0.0 == self }?.1 ?? "unknown")
  }
}
