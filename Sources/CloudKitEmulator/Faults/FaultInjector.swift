import Foundation

/// What the faults of a plan amount to for one request.
struct FaultEffects: Sendable {
  /// How the request ends instead of being carried out.
  enum Ending: Sendable {
    case dropped
    case refused(ServerError)
    case badGateway
  }

  var ending: Ending?
  var losesAnswer = false
  var milliseconds = 0
  var poisonsAll = false
  var poisoned: Set<String> = []
  var emptiesPages = false
  var expiresTokens = false

  func isPoisoned(_ name: String) -> Bool {
    poisonsAll || poisoned.contains(name)
  }
}

/// Applies a plan, counting for each rule how often it matched and struck.
struct FaultInjector {
  /// What a condition can speak about.
  struct Subject {
    var operation: String
    var database: String
    var records: Set<String>
    var zones: Set<String>
  }

  private struct Count {
    var matched = 0
    var struck = 0
    var randomState: UInt64

    /// A number from 0 up to 1 (SplitMix64).
    mutating func nextFraction() -> Double {
      randomState &+= 0x9E37_79B9_7F4A_7C15
      var mixed = (randomState ^ (randomState >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return Double((mixed ^ (mixed >> 31)) >> 11) / Double(UInt64(1) << 53)
    }
  }

  /// One hour: whoever asks for more has mistaken the unit.
  private static let longestDelay = 3_600_000

  let plan: FaultPlan
  private var counts: [Count]

  init(plan: FaultPlan) {
    self.plan = plan
    counts = plan.rules.indices.map { Count(randomState: Derived.number("\(plan.seed)/\($0)")) }
  }

  mutating func effects(on subject: Subject) -> FaultEffects {
    var effects = FaultEffects()
    for index in plan.rules.indices where strikes(index, subject) {
      let rule = plan.rules[index]
      switch rule.then {
      case .offline: effects.ending = effects.ending ?? .dropped
      case .throttled(let seconds):
        effects.ending = effects.ending ?? .refused(ServerError(.throttled, "Request throttled", retryAfter: seconds))
      case .tryAgainLater(let seconds):
        effects.ending = effects.ending ?? .refused(ServerError(.tryAgainLater, "Try again later", retryAfter: seconds))
      case .internalError: effects.ending = effects.ending ?? .refused(ServerError(.internalError, "Internal error"))
      case .badGateway: effects.ending = effects.ending ?? .badGateway
      case .dropAfterCommit: effects.losesAnswer = true
      case .delay(let milliseconds): effects.milliseconds += min(max(0, milliseconds), Self.longestDelay)
      case .poison:
        if let name = rule.when.recordName { effects.poisoned.insert(name) } else { effects.poisonsAll = true }
      case .emptyPageMoreComing: effects.emptiesPages = true
      case .expiredToken: effects.expiresTokens = true
      }
    }
    return effects
  }

  private mutating func strikes(_ index: Int, _ subject: Subject) -> Bool {
    let when = plan.rules[index].when
    guard when.operation.map({ $0 == subject.operation }) ?? true,
      when.database.map({ $0 == subject.database }) ?? true,
      when.recordName.map({ subject.records.contains($0) }) ?? true,
      when.zone.map({ subject.zones.contains($0) }) ?? true
    else { return false }
    counts[index].matched += 1
    let position = counts[index].matched - max(0, when.after ?? 0)
    guard position > 0, position % max(1, when.every ?? 1) == 0, counts[index].struck < when.limit ?? .max,
      when.probability.map({ counts[index].nextFraction() < $0 }) ?? true
    else { return false }
    counts[index].struck += 1
    return true
  }
}

extension FaultInjector.Subject {
  /// A request outside the databases.
  init(operation: String) {
    self.init(operation: operation, database: "", records: [], zones: [])
  }

  init(route: Route, body: JSONObject) {
    operation = route.operation.rawValue
    database = route.scope.rawValue
    records = []
    zones = []
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
