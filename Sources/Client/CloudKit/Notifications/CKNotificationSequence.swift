/// The pushes of a container as they arrive. Replaces Apple's push service on Linux.
///
/// ```swift
/// for try await notification in container.notifications {
///   if notification is CKDatabaseNotification { try await fetchChanges() }
/// }
/// ```
///
/// The sequence receives pushes from CloudKit's web courier by long polling (reference 5.10), and makes a new push
/// token when the old one expires or the courier refuses it. While the courier cannot be reached it retries with the
/// same token, with at most a minute between attempts. Pushes sent in the meantime are lost, also those between the
/// last reply for an old token and the new token: fetch changes when you start, and again from time to time.
///
/// Iteration ends with nil when the task is cancelled, and throws a `CKError` that retrying cannot fix, such as
/// `notAuthenticated`. Every iterator has its own token.
public struct CKNotificationSequence: AsyncSequence, Sendable {
  private let courier: WebCourier
  private var connection: @Sendable (Bool) -> Void = { _ in }

  init(_ courier: WebCourier) { self.courier = courier }

  /// Returns the same sequence with a callback for the state of the connection: true after each reply of the courier,
  /// false while it reconnects and before it replaces a token, because pushes may be lost then.
  package func telling(_ connection: @escaping @Sendable (Bool) -> Void) -> CKNotificationSequence {
    var copy = self
    copy.connection = connection
    return copy
  }

  /// Makes an iterator. It sends no request before the first `next()`.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(courier: courier, connection: connection) }

  /// An iterator that waits for one notification after the other.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let courier: WebCourier
    private let connection: @Sendable (Bool) -> Void
    private var channel: WebCourier.PushChannel?
    private var pace = RetryPace()
    /// Whether pushes may have been lost since the last reply of the courier.
    private var hasLost = false

    init(courier: WebCourier, connection: @escaping @Sendable (Bool) -> Void) {
      self.courier = courier
      self.connection = connection
    }

    /// Makes the push token now, so that pushes arrive that are sent before the first `next()`. While the server cannot
    /// be reached, it waits and tries again.
    mutating func open() async throws(CKError) {
      while channel == nil {
        do throws(CKError) {
          channel = try await courier.open()
        } catch {
          guard error.isTransient, await courier.wait(pace.afterFailure(retryAfter: error.retryAfterSeconds)) else {
            throw error
          }
        }
      }
    }

    /// Waits for the next notification; nil when the task is cancelled.
    public mutating func next() async throws -> CKNotification? {
      while !Task.isCancelled {
        do throws(CKError) {
          if let notification = try await attempt() { return notification }
        } catch {
          guard !Task.isCancelled else { return nil }
          // A courier that cannot be reached says nothing about the token. A new one for each attempt would be left
          // behind on the server.
          if error.code != .networkFailure { channel = nil }
          disconnect()
          guard error.isTransient else { throw error }
          guard await courier.wait(pace.afterFailure(retryAfter: error.retryAfterSeconds)) else { return nil }
        }
      }
      return nil
    }

    private mutating func attempt() async throws(CKError) -> CKNotification? {
      let open: WebCourier.PushChannel
      if let channel, courier.now() < channel.ends {
        open = channel
      } else {
        disconnect()
        open = try await courier.open()
        channel = open
      }
      let asked = courier.now()
      let body = try await courier.collect(from: open)
      // The lost pushes may have been for any record.
      if hasLost { courier.container.forgetRecords() }
      hasLost = false
      connection(true)
      if let body, let notification = CKNotification.notification(json: body) {
        pace = RetryPace()
        courier.container.forget(notification)
        return notification
      }
      // A keep-alive normally takes a while. If it comes at once, wait, so that requests do not loop without a pause.
      if asked.duration(to: courier.now()) < .seconds(1) {
        _ = await courier.wait(pace.afterFailure(retryAfter: nil))
      } else {
        pace = RetryPace()
      }
      return nil
    }

    private mutating func disconnect() {
      hasLost = true
      connection(false)
    }
  }
}

extension CKContainer {
  /// The pushes of this user's or key's subscriptions in all databases of the container.
  public var notifications: CKNotificationSequence { CKNotificationSequence(WebCourier(self)) }

  /// Calls a closure with each push until the listener is released. All listeners of a container share one poll, which
  /// begins with the first of them and ends with the last. It waits as the first listener says.
  package func listen(
    pause: @escaping @Sendable (Duration) async throws -> Void,
    _ receive: @escaping @Sendable (PushBroadcast.Event) -> Void
  ) -> PushBroadcast.Listener {
    pushes.listen(to: CKNotificationSequence(WebCourier(self, sleep: pause)), receive)
  }

  /// Registers a device token of Apple's push service to receive pushes.
  ///
  /// For programs that have such a token. `notifications` needs none.
  public func registerForPushes(deviceToken: String) async throws {
    try await perform(.write) { client throws(WebServicesError) in
      try await client.registerToken(deviceToken, apnsEnvironment: client.configuration.environment)
    }
  }
}
