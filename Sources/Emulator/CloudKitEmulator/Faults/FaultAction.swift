/// The effect of a fault on a request.
///
/// Encoded as its name (`"offline"`), or as a keyed value with the name in `action` and its parameters beside it:
/// `{"action": "throttled", "retryAfter": 3}`, `{"action": "delay", "milliseconds": 250}`.
public enum FaultAction: Sendable, Hashable {
  /// There is no connection; the request does not arrive.
  case offline
  /// The request arrives, and the connection closes before anything takes effect.
  case dropBeforeCommit
  /// The request takes effect and its reply is lost.
  case dropAfterCommit
  /// The request takes effect, and the connection closes in the middle of the reply.
  case truncateAnswer
  /// 429 `THROTTLED`, with the seconds to wait if given (parameter `retryAfter`).
  case throttled(retryAfter: Double?)
  /// 503 `TRY_AGAIN_LATER`, with the seconds to wait if given (parameter `retryAfter`).
  case tryAgainLater(retryAfter: Double?)
  /// 500 `INTERNAL_ERROR`.
  case internalError
  /// 502, or another status from 500 to 599 (parameter `status`), with an HTML page, as from a proxy.
  case badGateway(status: Int = 502)
  /// 413 with an HTML page, as from a proxy that rejects a long body.
  case tooLarge
  /// 413 `QUOTA_EXCEEDED`.
  case quotaExceeded
  /// The credential has expired: 421 `AUTHENTICATION_REQUIRED`; for a server-to-server key, 401.
  case authExpired
  /// Another user has signed in. The request and later requests with its new token belong to that user (parameter
  /// `user`).
  case accountSwitched(user: String = "another")
  /// The reply is delayed (parameter `milliseconds`, at most one hour).
  case delay(milliseconds: Int)
  /// The record named in the condition, or every record, is rejected with `BAD_REQUEST`.
  case poison
  /// An empty page says that more is coming. Set a limit, or a reader never reaches the end.
  case emptyPageMoreComing
  /// A page returns the marker or token that was sent and says that more is coming. Set a limit.
  case stalledMarker
  /// The sync tokens sent are rejected as unknown.
  case expiredToken
  /// A query does not see the writes of the last `milliseconds`, at most one hour.
  case indexDelay(milliseconds: Int)
  /// The custom zones of the private database that the request names are deleted first, as if the user had cleared the
  /// app's data. With a zone in the condition, only that zone.
  case zonePurged
}

extension FaultAction {
  /// The name in plans and logs.
  public var name: String { words.name }

  /// Whether a request ends by it, so that only the first such action takes effect.
  package var endsRequest: Bool { FaultInjector.ending(self) != nil }

  /// The name, and the effect as help states it.
  package var words: (name: String, effect: String) {
    switch self {
    case .offline: ("offline", "there is no connection")
    case .dropBeforeCommit: ("dropBeforeCommit", "the connection closes before anything takes effect")
    case .dropAfterCommit: ("dropAfterCommit", "the request takes effect and its reply is lost")
    case .truncateAnswer:
      ("truncateAnswer", "the request takes effect, the connection closes in the middle of the reply")
    case .throttled: ("throttled", "429 THROTTLED, with retryAfter seconds if given")
    case .tryAgainLater: ("tryAgainLater", "503 TRY_AGAIN_LATER, with retryAfter seconds if given")
    case .internalError: ("internalError", "500 INTERNAL_ERROR")
    case .badGateway: ("badGateway", "502, or the 5xx given as status, with an HTML page, as from a proxy")
    case .tooLarge: ("tooLarge", "413 with an HTML page, as from a proxy")
    case .quotaExceeded: ("quotaExceeded", "413 QUOTA_EXCEEDED")
    case .authExpired: ("authExpired", "421 AUTHENTICATION_REQUIRED; for a server-to-server key 401")
    case .accountSwitched:
      ("accountSwitched", "the request, and its new token, belong to the user given as user (default: another)")
    case .delay: ("delay", "the reply is delayed by the parameter milliseconds")
    case .poison: ("poison", "the record named in when, or every record, is rejected with BAD_REQUEST")
    case .emptyPageMoreComing: ("emptyPageMoreComing", "an empty page says that more is coming; set a limit")
    case .stalledMarker:
      ("stalledMarker", "a page returns the marker or token that was sent, and more is to come; set a limit")
    case .expiredToken: ("expiredToken", "the sync tokens sent are rejected as unknown")
    case .indexDelay: ("indexDelay", "a query does not see writes of the last milliseconds")
    case .zonePurged: ("zonePurged", "the private zones in the request are deleted first")
    }
  }

  /// All actions, with default parameters: those that end a request, then those that add up.
  package static let all: [FaultAction] = [
    .offline, .dropBeforeCommit, .dropAfterCommit, .truncateAnswer, .throttled(retryAfter: nil),
    .tryAgainLater(retryAfter: nil), .internalError, .badGateway(), .tooLarge, .quotaExceeded, .authExpired,
    .accountSwitched(), .delay(milliseconds: 0), .poison, .emptyPageMoreComing, .stalledMarker, .expiredToken,
    .indexDelay(milliseconds: 0), .zonePurged,
  ]
}

extension FaultAction: Codable {
  private enum CodingKeys: String, CodingKey {
    case action, retryAfter, milliseconds, status, user
  }

  /// Decodes a name, or a keyed value with parameters.
  ///
  /// - Throws: `DecodingError` for an unknown name or parameter, a missing parameter, or a number out of range.
  public init(from decoder: any Decoder) throws {
    if let name = try? decoder.singleValueContainer().decode(String.self) {
      switch try Self.named(name, decoder) {
      case .delay, .indexDelay: throw decoder.failure("'\(name)' needs a table with action and milliseconds")
      case let action: self = action
      }
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let action = try Self.named(container.decode(String.self, forKey: .action), decoder)
    func seconds() throws -> Double? {
      try decoder.allow(["action", "retryAfter"])
      let seconds = try container.decodeIfPresent(Double.self, forKey: .retryAfter)
      if let seconds, !(0...1e9).contains(seconds) { throw decoder.failure("retryAfter must be 0 or more seconds") }
      return seconds
    }
    func milliseconds() throws -> Int {
      try decoder.allow(["action", "milliseconds"])
      let (milliseconds, most) = (try container.decode(Int.self, forKey: .milliseconds), FaultEffects.longestDelay)
      if (0...most).contains(milliseconds) { return milliseconds }
      throw decoder.failure("milliseconds must be between 0 and \(most)")
    }
    switch action {
    case .throttled: self = .throttled(retryAfter: try seconds())
    case .tryAgainLater: self = .tryAgainLater(retryAfter: try seconds())
    case .delay: self = .delay(milliseconds: try milliseconds())
    case .indexDelay: self = .indexDelay(milliseconds: try milliseconds())
    case .badGateway:
      try decoder.allow(["action", "status"])
      let status = try container.decodeIfPresent(Int.self, forKey: .status) ?? 502
      guard (500...599).contains(status) else { throw decoder.failure("status must be between 500 and 599") }
      self = .badGateway(status: status)
    case .accountSwitched:
      try decoder.allow(["action", "user"])
      let user = try container.decodeIfPresent(String.self, forKey: .user) ?? "another"
      guard WebAuthToken(user)?.name == user else { throw decoder.failure("user must be the name of a user") }
      self = .accountSwitched(user: user)
    default:
      try decoder.allow(["action"])
      self = action
    }
  }

  private static func named(_ name: String, _ decoder: any Decoder) throws -> FaultAction {
    if let action = all.first(where: { $0.name == name }) { return action }
    let names = all.map(\.name).sorted().joined(separator: ", ")
    throw decoder.failure("unknown action '\(name)'; known actions: \(names)")
  }

  /// Encodes the keyed form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .action)
    switch self {
    case .throttled(let seconds), .tryAgainLater(let seconds):
      try container.encodeIfPresent(seconds, forKey: .retryAfter)
    case .delay(let milliseconds), .indexDelay(let milliseconds):
      try container.encode(milliseconds, forKey: .milliseconds)
    case .badGateway(let status): try container.encode(status, forKey: .status)
    case .accountSwitched(let user): try container.encode(user, forKey: .user)
    default: break
    }
  }
}
