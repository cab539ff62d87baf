/// The state of deliveries that the app did not accept.
///
/// A rejected batch is tried once more as it is, then in ever smaller parts, until a single record is isolated. That
/// record is set aside and retried from time to time, so that it holds up only records that refer to it.
struct DeliveryTrouble: Codable, Hashable, Sendable {
  /// Rejected batches since one was accepted or a record was set aside.
  private(set) var attempts = 0
  private(set) var reason = ""
  /// The time of the latest rejection.
  private(set) var at: Int64 = 0
  /// The earliest time of the next batch.
  private(set) var nextAt: Int64 = 0
  /// Deliveries that are set aside.
  private(set) var setAside: Set<Int64> = []
  /// The time at which these are retried.
  private(set) var retryAt: Int64?
  /// The number of retries so far.
  private(set) var rounds = 0
  /// Rejections since a batch was accepted.
  private(set) var refusals = 0
  /// Whether a part was accepted, so that only the bad record has to be found.
  private(set) var isFinding = false

  /// The maximum number set aside; with more, no single record is at fault.
  private static let largest = 5_000
  /// The number of records in the first try; each rejection quarters it.
  private static let batch = 200
  /// The number of rejections in a row after which the next call waits, because the app accepts nothing.
  private static let patience = 100

  var isAside: Bool { !setAside.isEmpty }
  var hasRoom: Bool { setAside.count < Self.largest }

  /// The time of the next try; nil if nothing waits for a time.
  func next(after now: Int64) -> Int64? { [nextAt, retryAt ?? 0].filter { $0 > now }.min() }

  /// The number of records to try next.
  var limit: Int { max(1, Self.batch >> (2 * min(max(attempts - 1, 0), 4))) }

  /// Returns the state at a time: records that are set aside may be due again.
  func seen(at now: Int64) -> Self {
    guard let retryAt, retryAt <= now || at > now else { return self }
    var due = self
    (due.setAside, due.retryAt, due.rounds, due.attempts) = ([], nil, rounds + 1, 5)
    return due
  }

  /// Records that a batch was rejected.
  ///
  /// - Returns: whether the next one may be tried at once.
  mutating func refuse(_ batch: [Int64], _ reason: String, now: Int64, random: Double) -> Bool {
    let wasAlone = limit == 1
    (self.reason, at) = (reason, now)
    refusals += 1
    attempts += 1
    let isStuck = wasAlone && !hasRoom
    if wasAlone, hasRoom {
      put(aside: batch, now: now, random: random)
      attempts = 0
    }
    let goesOn = (isAside || isFinding) && !isStuck && !refusals.isMultiple(of: Self.patience)
    let wait = goesOn ? 0 : Backoff.seconds(afterAttempt: isAside ? 10 : attempts, random: random)
    nextAt = now + Backoff.milliseconds(wait)
    return goesOn
  }

  /// Sets deliveries aside that are rejected, or that refer to one.
  mutating func put(aside numbers: [Int64], now: Int64, random: Double) {
    setAside.formUnion(numbers)
    let wait = Backoff.seconds(afterAttempt: 5 + rounds, random: random)
    retryAt = retryAt ?? now + Backoff.milliseconds(wait)
  }

  /// Records that a batch was accepted: the next one may be larger.
  mutating func take() {
    if attempts > 0 { (attempts, isFinding) = (attempts - 1, true) }
    (refusals, nextAt) = (0, at)
  }
}
