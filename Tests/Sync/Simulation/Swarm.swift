import CloudSync
import TestSupport

/// What goes wrong in one run and how often: each fault has a rate of its own, and some do not occur at all, so that
/// runs differ in kind.
struct Swarm: Sendable {
  enum Fault: String, CaseIterable, Sendable {
    case offline, lost, answerLost, answerCut, late, twice, stalled, fenced
    case throttled, tryAgain, internalError, gateway, signedOut, quota
    case itemThrottled, itemQuota, itemPoisoned, itemInternal
  }

  private var rates: [Fault: Double] = [:]
  /// The chance that a pass dies at one of its writes.
  private(set) var death = 0.0
  private(set) var clockJump = 0.0
  private(set) var tokenExpiry = 0.0
  private(set) var accountEvent = 0.0
  private(set) var zoneEvent = 0.0
  /// The chance that the zone of which one device alone decides is deleted and filled anew; 0: there is none.
  private(set) var zoneRenewal = 0.0
  private(set) var appTrouble = 0.0
  /// How long the trouble lasts.
  let steps: Int
  /// How many records everybody edits: the fewer, the more they are fought for.
  let records: Int
  /// Whether records have files.
  let hasAssets: Bool
  /// Whether changes say how their fields are merged, or the engine does.
  let changesHaveRules: Bool
  /// Which deletions are held back.
  let deletionGuard: DeletionGuard?

  init(_ random: inout SplitMix64) {
    deletionGuard = random.below(4) == 0 ? nil : DeletionGuard(count: 1 + random.below(3), share: 0.2)
    records = 1 + random.below(5)
    hasAssets = random.below(4) == 0
    changesHaveRules = random.below(2) == 0
    steps = 5 + random.below(random.below(8) == 0 ? 100 : 20)
    for fault in Fault.allCases { rates[fault] = Self.rate(&random) }
    death = Self.rate(&random)
    clockJump = Self.rate(&random)
    tokenExpiry = Self.rate(&random)
    accountEvent = Self.rate(&random)
    zoneEvent = Self.rate(&random)
    zoneRenewal = random.below(3) == 0 ? random.fraction() : 0
    appTrouble = Self.rate(&random) * 3
  }

  /// 0 to 30 %, and in two cases of five nothing.
  private static func rate(_ random: inout SplitMix64) -> Double {
    let rate = random.fraction() * 0.3
    return random.below(5) < 2 ? 0 : rate
  }

  var text: String {
    Fault.allCases.compactMap { fault in rates[fault].flatMap { $0 > 0 ? "\(fault.rawValue) \(Int($0 * 100))%" : nil } }
      .joined(separator: ", ")
  }

  /// What one request meets. There are many kinds, so that one in three is spoilt, and of reads, which are more, fewer.
  func fault(_ random: inout SplitMix64, isWrite: Bool) -> Fault? {
    var point = random.fraction() * (isWrite ? 4 : 12)
    for fault in Fault.allCases {
      point -= rates[fault] ?? 0
      if point < 0 { return fault }
    }
    return nil
  }
}

extension SplitMix64 {
  /// A number from 0 up to 1.
  mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }

  /// Whether something of this chance happens.
  mutating func happens(_ chance: Double) -> Bool { fraction() < chance }
}
