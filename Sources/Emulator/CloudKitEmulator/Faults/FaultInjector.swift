import Foundation
import JSONText

/// The combined effects of a plan's faults on one request.
struct FaultEffects: Sendable {
  /// The forced end of a request.
  enum Ending: Sendable {
    case refused(Refusal)
    case signedOut
    case answerLost
    case answerTruncated
  }

  /// The maximum delay in milliseconds: one hour. Longer delays are probably a wrong unit.
  static let longestDelay = 3_600_000

  var ending: Ending?
  var milliseconds = 0
  var poisonsAll = false
  var poisoned: Set<String> = []
  var emptiesPages = false
  var stallsMarkers = false
  var expiresTokens = false
  /// The number of milliseconds for which new writes are invisible to queries.
  var indexDelay = 0
  var newUser: String?
  var purgedZones: Set<String> = []
  /// The rules that applied, for the log.
  var names: [String] = []

  func isPoisoned(_ name: String) -> Bool {
    poisonsAll || poisoned.contains(name)
  }
}

/// Applies a fault plan, and counts for each rule how often it matched and applied.
struct FaultInjector {
  /// The properties of a request that a condition can test.
  struct Subject {
    var operation: String
    var database: String
    var user: String?
    var records: Set<String>
    var zones: Set<String>
  }

  let plan: FaultPlan
  private(set) var counts: [FaultCount]
  private var generators: [SeededGenerator]

  init(plan: FaultPlan) {
    self.plan = plan
    counts = plan.rules.map { _ in FaultCount() }
    generators = plan.rules.indices.map { SeededGenerator(seed: Derived.number("\(plan.seed)/\($0)")) }
  }

  mutating func effects(on subject: Subject) -> FaultEffects {
    var effects = FaultEffects()
    for (index, rule) in plan.rules.enumerated() where matches(index, subject) {
      let ending = Self.ending(rule.then)
      // A later rule that cannot decide the end of the request does not count as applied.
      guard ending == nil || effects.ending == nil, applies(index) else { continue }
      effects.names.append("rule \(index + 1): \(rule.then.name)")
      effects.ending = effects.ending ?? ending
      switch rule.then {
      case .delay(let milliseconds): effects.milliseconds += min(max(0, milliseconds), FaultEffects.longestDelay)
      case .poison:
        if let name = rule.when.recordName { effects.poisoned.insert(name) } else { effects.poisonsAll = true }
      case .emptyPageMoreComing: effects.emptiesPages = true
      case .stalledMarker: effects.stallsMarkers = true
      case .expiredToken: effects.expiresTokens = true
      case .indexDelay(let milliseconds):
        effects.indexDelay = max(effects.indexDelay, min(milliseconds, FaultEffects.longestDelay))
      case .accountSwitched(let user): effects.newUser = user
      case .zonePurged: effects.purgedZones.formUnion(rule.when.zone.map { [$0] } ?? subject.zones)
      default: break
      }
    }
    return effects
  }

  /// Returns the end that an action forces; `nil` if it does not force one.
  static func ending(_ action: FaultAction) -> FaultEffects.Ending? {
    switch action {
    case .offline: .refused(.offline)
    case .dropBeforeCommit: .refused(.dropped)
    case .dropAfterCommit: .answerLost
    case .truncateAnswer: .answerTruncated
    case .throttled(let seconds): .refused(.error(ServerError(.throttled, "Request throttled", retryAfter: seconds)))
    case .tryAgainLater(let seconds):
      .refused(.error(ServerError(.tryAgainLater, "Try again later", retryAfter: seconds)))
    case .internalError: .refused(.error(ServerError(.internalError, "Internal error")))
    case .quotaExceeded: .refused(.error(ServerError(.quotaExceeded, "Quota exceeded")))
    case .badGateway(let status): .refused(.page(status))
    case .tooLarge: .refused(.page(413))
    case .authExpired: .signedOut
    case .accountSwitched, .delay, .poison, .emptyPageMoreComing, .stalledMarker, .expiredToken, .indexDelay,
      .zonePurged:
      nil
    }
  }

  private mutating func matches(_ index: Int, _ subject: Subject) -> Bool {
    let when = plan.rules[index].when
    guard when.operation.map({ $0 == subject.operation }) ?? true,
      when.database.map({ $0 == subject.database }) ?? true,
      when.user.map({ $0 == subject.user }) ?? true,
      when.recordName.map({ subject.records.contains($0) }) ?? true,
      when.zone.map({ subject.zones.contains($0) }) ?? true
    else { return false }
    counts[index].matched += 1
    return true
  }

  private mutating func applies(_ index: Int) -> Bool {
    let when = plan.rules[index].when
    let position = counts[index].matched - max(0, when.after ?? 0)
    guard position > 0, position % max(1, when.every ?? 1) == 0, counts[index].applied < when.limit ?? .max,
      when.probability.map({ nextFraction(index) < $0 }) ?? true
    else { return false }
    counts[index].applied += 1
    return true
  }

  /// Returns a random number from 0 up to 1.
  private mutating func nextFraction(_ index: Int) -> Double {
    Double(generators[index].next() >> 11) / Double(UInt64(1) << 53)
  }
}

extension FaultInjector.Subject {
  /// Describes a request outside the databases.
  init(operation: String) {
    self.init(operation: operation, database: "", records: [], zones: [])
  }

  init(route: Route, caller: Caller?, body: JSONObject) {
    self.init(operation: route.operation.rawValue, database: route.scope.rawValue, records: [], zones: [])
    if case .user(let name, _) = caller { user = name }
    for item in (body["operations"]?.array ?? []) + (body["records"]?.array ?? []) + (body["zones"]?.array ?? []) {
      guard let item = item.object else { continue }
      if let name = item["recordName"]?.string ?? item["record"]?.object?["recordName"]?.string { records.insert(name) }
      let zoneID = item["zoneID"] ?? item["zone"]?.object?["zoneID"]
      if let name = zoneID?.object?["zoneName"]?.string ?? item["zoneName"]?.string { zones.insert(name) }
    }
    if let name = body["zoneID"]?.object?["zoneName"]?.string { zones.insert(name) }
    if zones.isEmpty { zones = [ZoneState.defaultName] }
  }
}
