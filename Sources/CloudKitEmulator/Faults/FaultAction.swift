/// What a fault does to a request.
///
/// Coded as its name (`"offline"`), or as a keyed value with the name under `action` and its parameters beside it:
/// `{"action": "throttled", "retryAfter": 3}`, `{"action": "delay", "milliseconds": 250}`.
public enum FaultAction: Sendable, Hashable {
  /// The connection closes before anything takes effect.
  case offline
  /// 429 `THROTTLED`, with the seconds to wait (parameter `retryAfter`) where given.
  case throttled(retryAfter: Double?)
  /// 503 `TRY_AGAIN_LATER`, with the seconds to wait (parameter `retryAfter`) where given.
  case tryAgainLater(retryAfter: Double?)
  /// 500 `INTERNAL_ERROR`.
  case internalError
  /// 502 with a page of HTML, as a proxy answers.
  case badGateway
  /// The request takes effect and its answer is lost.
  case dropAfterCommit
  /// The answer comes later, by the parameter `milliseconds`, an hour at most.
  case delay(milliseconds: Int)
  /// The record named in the condition, or every record, is refused with `BAD_REQUEST`.
  case poison
  /// A page without records says that more is coming. Limit it, or a reader never reaches the end.
  case emptyPageMoreComing
  /// The tokens sent are refused as unknown.
  case expiredToken
}

extension FaultAction: Codable {
  private enum Name: String, Codable {
    case offline, throttled, tryAgainLater, internalError, badGateway, dropAfterCommit, delay, poison
    case emptyPageMoreComing, expiredToken
  }

  private enum CodingKeys: String, CodingKey {
    case action, retryAfter, milliseconds
  }

  /// Reads a name, or a keyed value with parameters.
  ///
  /// - Throws: `DecodingError` for an unknown name, or a delay without `milliseconds`.
  public init(from decoder: any Decoder) throws {
    if let name = try? decoder.singleValueContainer().decode(Name.self), name != .delay {
      self = Self.make(name, retryAfter: nil, milliseconds: 0)
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(Name.self, forKey: .action)
    let milliseconds = name == .delay ? try container.decode(Int.self, forKey: .milliseconds) : 0
    self = Self.make(
      name,
      retryAfter: try container.decodeIfPresent(Double.self, forKey: .retryAfter),
      milliseconds: milliseconds
    )
  }

  /// Writes the keyed form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .offline: try container.encode(Name.offline, forKey: .action)
    case .throttled(let retryAfter):
      try container.encode(Name.throttled, forKey: .action)
      try container.encodeIfPresent(retryAfter, forKey: .retryAfter)
    case .tryAgainLater(let retryAfter):
      try container.encode(Name.tryAgainLater, forKey: .action)
      try container.encodeIfPresent(retryAfter, forKey: .retryAfter)
    case .internalError: try container.encode(Name.internalError, forKey: .action)
    case .badGateway: try container.encode(Name.badGateway, forKey: .action)
    case .dropAfterCommit: try container.encode(Name.dropAfterCommit, forKey: .action)
    case .delay(let milliseconds):
      try container.encode(Name.delay, forKey: .action)
      try container.encode(milliseconds, forKey: .milliseconds)
    case .poison: try container.encode(Name.poison, forKey: .action)
    case .emptyPageMoreComing: try container.encode(Name.emptyPageMoreComing, forKey: .action)
    case .expiredToken: try container.encode(Name.expiredToken, forKey: .action)
    }
  }

  private static func make(_ name: Name, retryAfter: Double?, milliseconds: Int) -> FaultAction {
    switch name {
    case .offline: .offline
    case .throttled: .throttled(retryAfter: retryAfter)
    case .tryAgainLater: .tryAgainLater(retryAfter: retryAfter)
    case .internalError: .internalError
    case .badGateway: .badGateway
    case .dropAfterCommit: .dropAfterCommit
    case .delay: .delay(milliseconds: milliseconds)
    case .poison: .poison
    case .emptyPageMoreComing: .emptyPageMoreComing
    case .expiredToken: .expiredToken
    }
  }
}
