/// What a fault does to a request.
///
/// Coded as its name (`"offline"`), or as a keyed value with the name under `action` and its parameters beside it:
/// `{"action": "throttled", "retryAfter": 3}`, `{"action": "delay", "milliseconds": 250}`.
public enum FaultAction: Sendable, Hashable {
  /// There is no connection: nothing of the request arrives.
  case offline
  /// The request arrives, and the connection closes before anything takes effect.
  case dropBeforeCommit
  /// The request takes effect and its answer is lost.
  case dropAfterCommit
  /// The request takes effect, and the connection closes in the middle of its answer.
  case truncateAnswer
  /// 429 `THROTTLED`, with the seconds to wait (parameter `retryAfter`) where given.
  case throttled(retryAfter: Double?)
  /// 503 `TRY_AGAIN_LATER`, with the seconds to wait (parameter `retryAfter`) where given.
  case tryAgainLater(retryAfter: Double?)
  /// 500 `INTERNAL_ERROR`.
  case internalError
  /// 502, or another status from 500 to 599 (parameter `status`), with a page of HTML, as a proxy answers.
  case badGateway(status: Int = 502)
  /// 413 with a page of HTML, as a proxy answers a body that is too long for it.
  case tooLarge
  /// 413 `QUOTA_EXCEEDED`.
  case quotaExceeded
  /// The credential is no longer good: 421 `AUTHENTICATION_REQUIRED`, of a server-to-server key 401.
  case authExpired
  /// Somebody else has signed in: the request and those that carry its new token are that user's (parameter `user`).
  case accountSwitched(user: String = "another")
  /// The answer comes later, by the parameter `milliseconds`, an hour at most.
  case delay(milliseconds: Int)
  /// The record named in the condition, or every record, is refused with `BAD_REQUEST`.
  case poison
  /// A page without records says that more is coming. Limit it, or a reader never reaches the end.
  case emptyPageMoreComing
  /// A page says that more is coming, behind the marker or token that the request came with. Limit it as well.
  case stalledMarker
  /// The tokens sent are refused as unknown.
  case expiredToken
  /// A query does not see what was written in the last `milliseconds`, an hour at most.
  case indexDelay(milliseconds: Int)
  /// The custom zones of the private database that the request speaks of are deleted before it is carried out, as by a
  /// user who clears the app's data; with a zone in the condition only that one.
  case zonePurged
}

extension FaultAction {
  /// The name that plans and logs use.
  public var name: String {
    switch self {
    case .offline: "offline"
    case .dropBeforeCommit: "dropBeforeCommit"
    case .dropAfterCommit: "dropAfterCommit"
    case .truncateAnswer: "truncateAnswer"
    case .throttled: "throttled"
    case .tryAgainLater: "tryAgainLater"
    case .internalError: "internalError"
    case .badGateway: "badGateway"
    case .tooLarge: "tooLarge"
    case .quotaExceeded: "quotaExceeded"
    case .authExpired: "authExpired"
    case .accountSwitched: "accountSwitched"
    case .delay: "delay"
    case .poison: "poison"
    case .emptyPageMoreComing: "emptyPageMoreComing"
    case .stalledMarker: "stalledMarker"
    case .expiredToken: "expiredToken"
    case .indexDelay: "indexDelay"
    case .zonePurged: "zonePurged"
    }
  }

  /// Each action once, with the parameters that it has where none are given.
  private static let all: [FaultAction] = [
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

  /// Reads a name, or a keyed value with parameters.
  ///
  /// - Throws: `DecodingError` for an unknown name or parameter, a missing one, or a number out of its range.
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
    switch action {
    case .throttled: self = .throttled(retryAfter: try Self.seconds(container, decoder))
    case .tryAgainLater: self = .tryAgainLater(retryAfter: try Self.seconds(container, decoder))
    case .delay: self = .delay(milliseconds: try Self.milliseconds(container, decoder))
    case .indexDelay: self = .indexDelay(milliseconds: try Self.milliseconds(container, decoder))
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
    throw decoder.failure("there is no action '\(name)'; there are \(names)")
  }

  private static func seconds(
    _ container: KeyedDecodingContainer<CodingKeys>,
    _ decoder: any Decoder
  ) throws -> Double? {
    try decoder.allow(["action", "retryAfter"])
    let seconds = try container.decodeIfPresent(Double.self, forKey: .retryAfter)
    if let seconds, !(0...1e9).contains(seconds) { throw decoder.failure("retryAfter must be 0 or more seconds") }
    return seconds
  }

  private static func milliseconds(
    _ container: KeyedDecodingContainer<CodingKeys>,
    _ decoder: any Decoder
  ) throws -> Int {
    try decoder.allow(["action", "milliseconds"])
    let milliseconds = try container.decode(Int.self, forKey: .milliseconds)
    guard (0...FaultEffects.longestDelay).contains(milliseconds) else {
      throw decoder.failure("milliseconds must be between 0 and \(FaultEffects.longestDelay)")
    }
    return milliseconds
  }

  /// Writes the keyed form.
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
