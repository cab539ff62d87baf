/// What goes wrong, and when: rules tried in order on each request, replayed exactly by an equal seed.
///
/// As JSON or any other keyed format, every key but `then` may be left out:
///
///     {"seed": 7, "rules": [
///       {"when": {"operation": "records/modify", "every": 5}, "then": {"action": "throttled", "retryAfter": 3}},
///       {"when": {"recordName": "note-13"}, "then": "poison"}]}
public struct FaultPlan: Codable, Sendable, Hashable {
  /// Seeds the rules that have a probability.
  public var seed: UInt64
  /// The rules. Those that change how a request is carried out or when it is answered add up; of those that decide how
  /// it ends (dropped, lost, refused) the first that strikes is the only one.
  public var rules: [FaultRule]

  /// Makes a plan.
  public init(seed: UInt64 = 1, rules: [FaultRule] = []) {
    self.seed = seed
    self.rules = rules
  }

  /// Reads a plan; both keys may be absent.
  ///
  /// - Throws: `DecodingError` for a rule that cannot be read, or a key that means nothing.
  public init(from decoder: any Decoder) throws {
    try decoder.allow(["seed", "rules"])
    let container = try decoder.container(keyedBy: CodingKeys.self)
    seed = try container.decodeIfPresent(UInt64.self, forKey: .seed) ?? 1
    rules = try container.decodeIfPresent([FaultRule].self, forKey: .rules) ?? []
  }
}

/// One rule of a plan: when it matches, and what happens then.
public struct FaultRule: Codable, Sendable, Hashable {
  /// When the rule matches.
  public var when: FaultCondition
  /// What happens then.
  public var then: FaultAction

  /// Makes a rule.
  public init(when: FaultCondition = FaultCondition(), then: FaultAction) {
    self.when = when
    self.then = then
  }

  /// Reads a rule; without `when` it matches every request.
  ///
  /// - Throws: `DecodingError` for an unknown action or key.
  public init(from decoder: any Decoder) throws {
    try decoder.allow(["when", "then"])
    let container = try decoder.container(keyedBy: CodingKeys.self)
    when = try container.decodeIfPresent(FaultCondition.self, forKey: .when) ?? FaultCondition()
    then = try container.decode(FaultAction.self, forKey: .then)
  }
}

/// Which requests a rule is about. All that is given must hold; what is absent always holds.
public struct FaultCondition: Codable, Sendable, Hashable {
  /// The operation, e.g. `records/modify`; `upload` and `download` of files, and `poll` for notifications.
  public var operation: String?
  /// The name of a record the request carries.
  public var recordName: String?
  /// The name of a zone the request speaks of; `_defaultZone` where it names none.
  public var zone: String?
  /// `public`, `private` or `shared`.
  public var database: String?
  /// The name of the user whose web-auth token the request carries.
  public var user: String?
  /// Let this many matching requests pass first.
  public var after: Int?
  /// Of the matching requests only every Nth: the Nth, the 2Nth and so on.
  public var every: Int?
  /// How often the rule strikes at most.
  public var limit: Int?
  /// The chance, from 0 to 1, that a matching request is struck.
  public var probability: Double?

  /// Makes a condition.
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

  private static let keys = [
    "operation", "recordName", "zone", "database", "user", "after", "every", "limit", "probability",
  ]
  private static let operations = Route.Operation.allCases.map(\.rawValue) + ["upload", "download", "poll"]

  /// Reads a condition.
  ///
  /// - Throws: `DecodingError` for an unknown key, operation or database, and for a number out of its range.
  public init(from decoder: any Decoder) throws {
    try decoder.allow(Self.keys)
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
      throw decoder.failure("there is no operation '\(operation)'; there are \(operations)")
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

/// How often a rule of a plan was looked at and used.
public struct FaultCount: Codable, Sendable, Hashable {
  /// The requests that met the rule's condition, whatever its `after`, `every`, `limit` and `probability` made of them.
  public var matched = 0
  /// The requests that met with the rule's action.
  public var struck = 0
}
