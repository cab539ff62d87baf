/// A plan of faults: rules tried in order on each request. The same seed replays a plan exactly.
///
/// In JSON or any other keyed format, every key but `then` is optional:
///
///     {"seed": 7, "rules": [
///       {"when": {"operation": "records/modify", "every": 5}, "then": {"action": "throttled", "retryAfter": 3}},
///       {"when": {"recordName": "note-13"}, "then": "poison"}]}
public struct FaultPlan: Codable, Sendable, Hashable {
  /// The seed for rules with a probability.
  public var seed: UInt64
  /// The rules. The effects of rules that change or delay a request add up. Of the rules that force its end (dropped,
  /// lost, rejected), only the first that applies takes effect.
  public var rules: [FaultRule]

  /// Creates a plan.
  public init(seed: UInt64 = 1, rules: [FaultRule] = []) {
    self.seed = seed
    self.rules = rules
  }

  /// Decodes a plan; both keys are optional.
  ///
  /// - Throws: `DecodingError` for an invalid rule or an unknown key.
  public init(from decoder: any Decoder) throws {
    try decoder.allow(["seed", "rules"])
    let container = try decoder.container(keyedBy: CodingKeys.self)
    seed = try container.decodeIfPresent(UInt64.self, forKey: .seed) ?? 1
    rules = try container.decodeIfPresent([FaultRule].self, forKey: .rules) ?? []
  }
}

/// A rule of a plan: a condition and an action.
public struct FaultRule: Codable, Sendable, Hashable {
  /// The condition under which the rule applies.
  public var when: FaultCondition
  /// The action of the rule.
  public var then: FaultAction

  /// Creates a rule.
  public init(when: FaultCondition = FaultCondition(), then: FaultAction) {
    self.when = when
    self.then = then
  }

  /// Decodes a rule. Without `when`, it matches every request.
  ///
  /// - Throws: `DecodingError` for an unknown action or key.
  public init(from decoder: any Decoder) throws {
    try decoder.allow(["when", "then"])
    let container = try decoder.container(keyedBy: CodingKeys.self)
    when = try container.decodeIfPresent(FaultCondition.self, forKey: .when) ?? FaultCondition()
    then = try container.decode(FaultAction.self, forKey: .then)
  }
}

/// The requests that a rule applies to. All given conditions must hold; an omitted one always holds.
public struct FaultCondition: Codable, Sendable, Hashable {
  /// The operation, e.g. `records/modify`; also `upload` and `download` of files, and `poll` for notifications.
  public var operation: String?
  /// The name of a record that the request carries.
  public var recordName: String?
  /// The name of a zone in the request; `_defaultZone` if it names none.
  public var zone: String?
  /// `public`, `private` or `shared`.
  public var database: String?
  /// The name of the user of the request's web auth token.
  public var user: String?
  /// The number of matching requests to skip first.
  public var after: Int?
  /// Applies the rule only to every Nth matching request: the Nth, the 2Nth and so on.
  public var every: Int?
  /// The maximum number of times that the rule applies.
  public var limit: Int?
  /// The probability, from 0 to 1, that the rule applies to a matching request.
  public var probability: Double?

  /// Creates a condition.
  public init(
    operation: String? = nil,
    recordName: String? = nil,
    zone: String? = nil,
    database: String? = nil,
    user: String? = nil,
    after: Int? = nil,
    every: Int? = nil,
    limit: Int? = nil,
    probability: Double? = nil
  ) {
    self.operation = operation
    self.recordName = recordName
    self.zone = zone
    self.database = database
    self.user = user
    self.after = after
    self.every = every
    self.limit = limit
    self.probability = probability
  }

  /// The keys, with their meaning as help states it.
  package static let keys: [(name: String, effect: String)] = [
    ("operation", "such as records/modify or changes/zone; upload and download of files, poll for notifications"),
    ("recordName", "the name of a record that the request carries"),
    ("zone", "the name of a zone in the request; _defaultZone if it names none"),
    ("database", "public, private or shared"), ("user", "the name of the user of its web auth token"),
    ("after", "skip this many matching requests first"), ("every", "apply only to every Nth matching request"),
    ("limit", "apply at most this many times"),
    ("probability", "the probability from 0 to 1 that the rule applies to a match"),
  ]
  private static let operations = Route.Operation.allCases.map(\.rawValue) + ["upload", "download", "poll"]

  /// Decodes a condition.
  ///
  /// - Throws: `DecodingError` for an unknown key, operation or database, or a number out of range.
  public init(from decoder: any Decoder) throws {
    try decoder.allow(Self.keys.map(\.name))
    let container = try decoder.container(keyedBy: CodingKeys.self)
    operation = try container.decodeIfPresent(String.self, forKey: .operation)
    recordName = try container.decodeIfPresent(String.self, forKey: .recordName)
    zone = try container.decodeIfPresent(String.self, forKey: .zone)
    database = try container.decodeIfPresent(String.self, forKey: .database)
    user = try container.decodeIfPresent(String.self, forKey: .user)
    after = try container.decodeIfPresent(Int.self, forKey: .after)
    every = try container.decodeIfPresent(Int.self, forKey: .every)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    probability = try container.decodeIfPresent(Double.self, forKey: .probability)
    if let operation, !Self.operations.contains(operation) {
      let operations = Self.operations.joined(separator: ", ")
      throw decoder.failure("unknown operation '\(operation)'; known operations: \(operations)")
    }
    if let database, Route.Scope(rawValue: database) == nil {
      throw decoder.failure("database must be public, private or shared")
    }
    for (key, number, least) in [("after", after, 0), ("every", every, 1), ("limit", limit, 0)] {
      if let number, number < least { throw decoder.failure("\(key) must be \(least) or more") }
    }
    if let probability, !(0...1).contains(probability) { throw decoder.failure("probability must be from 0 to 1") }
  }
}

/// The number of times that a rule matched and applied.
public struct FaultCount: Codable, Sendable, Hashable {
  /// The number of requests that met the rule's condition, before `after`, `every`, `limit` and `probability`.
  public var matched = 0
  /// The number of requests that the rule's action applied to.
  public var applied = 0
}
