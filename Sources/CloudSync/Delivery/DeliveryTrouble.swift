/// What an app does not take, and when it is asked again.
///
/// A batch that is refused is tried once more as it is, then in ever smaller parts, until one record is alone. That one is set
/// aside, so that it holds up nothing but what refers to it, and tried by itself from time to time.
struct DeliveryTrouble: Codable, Hashable, Sendable {
  /// Batches refused since one was taken or something was set aside.
  private(set) var attempts = 0
  private(set) var reason = ""
  /// When that was.
  private(set) var at: Int64 = 0
  /// When the next batch may be tried.
  private(set) var nextAt: Int64 = 0
  /// Deliveries that are set aside. Optional, as are those below: earlier versions did not write them.
  private(set) var setAside: Set<Int64>?
  /// When these are tried again.
  private(set) var retryAt: Int64?
  /// How often they have been.
  private(set) var rounds: Int?
  /// Refusals since a batch was taken.
  private(set) var refusals: Int?
  /// Whether a part was taken: the app takes others, and the one that it does not take has only to be found.
  private(set) var isFinding: Bool?

  /// More than this are not set aside: it is no single record then.
  private static let largest = 5_000
  /// As many refusals in a row are not followed by the next call at once: the app takes nothing at all.
  private static let patience = 100

  var isAside: Bool { setAside?.isEmpty == false }
  /// Whether more can be set aside.
  var hasRoom: Bool { setAside?.count ?? 0 < Self.largest }

  /// When something can be tried next; nil: nothing waits for a time.
  func next(after now: Int64) -> Int64? { [nextAt, retryAt ?? 0].filter { $0 > now }.min() }

  /// How many records are tried next.
  var limit: Int { max(1, 200 >> (2 * min(max(attempts - 1, 0), 4))) }

  /// What is so at a time: what is set aside may be due again.
  func seen(at now: Int64) -> Self {
    guard let retryAt, retryAt <= now || at > now else { return self }
    var due = self
    (due.setAside, due.retryAt, due.rounds, due.attempts) = (nil, nil, (rounds ?? 0) + 1, 5)
    return due
  }

  /// Takes that a batch was refused.
  ///
  /// - Returns: whether the next one may be tried at once.
  mutating func refuse(_ batch: [Int64], _ reason: String, now: Int64, random: Double) -> Bool {
    let wasAlone = limit == 1
    (self.reason, at) = (reason, now)
    refusals = (refusals ?? 0) + 1
    attempts += 1
    let isStuck = wasAlone && !hasRoom
    if wasAlone, hasRoom {
      put(aside: batch, now: now, random: random)
      attempts = 0
    }
    let goesOn = (isAside || isFinding == true) && !isStuck && !(refusals ?? 0).isMultiple(of: Self.patience)
    let wait = goesOn ? 0 : Backoff.seconds(afterAttempt: isAside ? 10 : attempts, random: random)
    nextAt = now + Backoff.milliseconds(wait)
    return goesOn
  }

  /// Sets aside what cannot be taken for itself, or for what it refers to.
  mutating func put(aside numbers: [Int64], now: Int64, random: Double) {
    setAside = (setAside ?? []).union(numbers)
    let wait = Backoff.seconds(afterAttempt: 5 + (rounds ?? 0), random: random)
    retryAt = retryAt ?? now + Backoff.milliseconds(wait)
  }

  /// Takes that a batch was taken: the next one may be larger.
  mutating func take() {
    if attempts > 0 { (attempts, isFinding) = (attempts - 1, true) }
    (refusals, nextAt) = (0, at)
  }
}
