/// The pushes of a container, as they arrive: what takes the place of Apple's push service on Linux.
///
/// ```swift
/// for try await notification in container.notifications {
///   if notification is CKDatabaseNotification { try await fetchChanges() }
/// }
/// ```
///
/// It collects them from CloudKit's web courier, by requests that hang until there is a push (reference 5.10), and makes a
/// new push token when the old one ends or fails. While the network is away it waits, up to a minute between attempts.
/// Pushes that were sent meanwhile are lost: read the changes when you begin, and again now and then.
///
/// Iterating ends with nil when the task is cancelled, and throws `CKError` where waiting is of no use, such as
/// `notAuthenticated`. Every iterator has a token of its own.
public struct CKNotificationSequence: AsyncSequence, Sendable {
  private let courier: WebCourier
  private var connection: @Sendable (Bool) -> Void = { _ in }

  init(_ courier: WebCourier) { self.courier = courier }

  /// The same, telling whether the courier answers: true after each answer, false while it is being reached anew.
  package func telling(_ connection: @escaping @Sendable (Bool) -> Void) -> CKNotificationSequence {
    var copy = self
    copy.connection = connection
    return copy
  }

  /// Begins to collect; nothing is asked for before the first `next()`.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(courier: courier, connection: connection) }

  /// Collects one notification after the other.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let courier: WebCourier
    private let connection: @Sendable (Bool) -> Void
    private var box: WebCourier.Box?
    private var pace = Pace()

    init(courier: WebCourier, connection: @escaping @Sendable (Bool) -> Void) {
      self.courier = courier
      self.connection = connection
    }

    /// The next notification; nil when the task is cancelled.
    public mutating func next() async throws -> CKNotification? {
      while !Task.isCancelled {
        do throws(CKError) {
          if let notification = try await attempt() { return notification }
        } catch {
          guard !Task.isCancelled else { return nil }
          box = nil
          connection(false)
          guard error.isWorthWaiting else { throw error }
          guard await courier.wait(pace.afterFailure(retryAfter: error.retryAfterSeconds)) else { return nil }
        }
      }
      return nil
    }

    private mutating func attempt() async throws(CKError) -> CKNotification? {
      let open: WebCourier.Box
      if let box, courier.now() < box.ends {
        open = box
      } else {
        connection(false)
        open = try await courier.open()
        box = open
      }
      let asked = courier.now()
      let body = try await courier.collect(from: open)
      connection(true)
      if let body, let notification = CKNotification.notification(json: body) {
        pace = Pace()
        return notification
      }
      // A keep-alive comes after a while. One that comes at once would have us ask without end.
      if asked.duration(to: courier.now()) < .seconds(1) {
        _ = await courier.wait(pace.afterFailure(retryAfter: nil))
      } else {
        pace = Pace()
      }
      return nil
    }
  }

  /// How long to wait between attempts that fail: a second, doubled each time, a minute at most.
  struct Pace {
    private var failures = 0

    mutating func afterFailure(retryAfter: Double?) -> Duration {
      defer { failures += 1 }
      let own = Swift.min(60, 1 << Swift.min(failures, 6))
      return .seconds(Swift.max(Double(own), retryAfter.map { $0.isFinite ? $0 : 0 } ?? 0))
    }
  }
}

extension CKError {
  /// Whether the same request can succeed later without anybody doing anything.
  fileprivate var isWorthWaiting: Bool {
    switch code {
    case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .internalError, .zoneBusy,
      .serverResponseLost, .accountTemporarilyUnavailable:
      true
    default: false
    }
  }
}

extension CKContainer {
  /// The pushes of the subscriptions of this user, or key, in all databases of the container.
  public var notifications: CKNotificationSequence { CKNotificationSequence(WebCourier(self)) }

  /// Asks for pushes to a device token that Apple's push service gave out.
  ///
  /// For programs that have such a token; `notifications` needs none.
  public func registerForPushes(deviceToken: String) async throws {
    try await perform(.write) { client throws(WebServicesError) in
      try await client.registerToken(deviceToken, apnsEnvironment: client.configuration.environment)
    }
  }
}
