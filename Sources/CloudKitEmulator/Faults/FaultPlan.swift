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
  /// The rules. Delays, poison and empty pages add up; of the others the first that matches decides.
  public var rules: [FaultRule]

  /// Makes a plan.
  public init(seed: UInt64 = 1, rules: [FaultRule] = []) {
    self.seed = seed
    self.rules = rules
  }

  /// Reads a plan; both keys may be absent.
  ///
  /// - Throws: `DecodingError` for a rule that cannot be read.
  public init(from decoder: any Decoder) throws {
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
  /// - Throws: `DecodingError` for an unknown action.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    when = try container.decodeIfPresent(FaultCondition.self, forKey: .when) ?? FaultCondition()
    then = try container.decode(FaultAction.self, forKey: .then)
  }
}

/// Which requests a rule is about. All that is given must hold; what is absent always holds.
public struct FaultCondition: Codable, Sendable, Hashable {
  /// The operation, e.g. `records/modify`.
  public var operation: String?
  /// The name of a record the request carries.
  public var recordName: String?
  /// The name of a zone the request speaks of; `_defaultZone` where it names none.
  public var zone: String?
  /// `public`, `private` or `shared`.
  public var database: String?
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
    after: Int? = nil,
    every: Int? = nil,
    limit: Int? = nil,
    probability: Double? = nil
  ) {
    self.operation = operation
    self.recordName = recordName
    self.zone = zone
    self.database = database
    self.after = after
    self.every = every
    self.limit = limit
    self.probability = probability
  }
}
