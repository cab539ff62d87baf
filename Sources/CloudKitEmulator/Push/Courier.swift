import Foundation

/// A push token: the address of a device for notifications.
struct PushToken {
  /// The lifetime in milliseconds: twelve hours. [L3]
  static let lifetime: Int64 = 43_200_000
  /// The maximum number of tokens of one user in a container. [E]
  static let limit = 100
  /// The path of the long poll, as on the real host. [L3]
  static let path = "/aps"

  var text: String
  /// The private database of the user who receives the notifications.
  var owner: DatabaseKey
  /// The time of expiry in milliseconds since 1970.
  var expires: Int64
}

/// The long poll of one token: its queued notifications, or the poll that waits for one. [L3]
struct Courier {
  /// The maximum number of queued notifications. Beyond it, the oldest are dropped, as APNs does. [E]
  static let limit = 100

  struct Waiter {
    var id: UInt64
    var exchange: Exchange
    var resume: @Sendable (EmulatorReply) -> Void
  }

  var token: PushToken
  var notifications: [Data] = []
  var waiter: Waiter?

  mutating func enqueue(_ notification: Data) {
    notifications.append(notification)
    if notifications.count > Self.limit { notifications.removeFirst() }
  }
}

extension EmulatorCore {
  /// Answers a poll at once if a notification is queued; otherwise holds it. [L3]
  func poll(_ exchange: Exchange) -> EmulatorReply {
    if isOffline { return offline(exchange) }
    var exchange = exchange
    exchange.faults = faults(on: FaultInjector.Subject(operation: exchange.operation))
    var reply = plainEnding(exchange) ?? answerPoll(exchange)
    reply.delay = .milliseconds(exchange.faults.milliseconds)
    return reply
  }

  private func answerPoll(_ exchange: Exchange) -> EmulatorReply {
    guard exchange.request.method == "GET" else { return respond(exchange, status: 405, html: "Method Not Allowed") }
    let text = QueryString.values(exchange.request.query)["tok"] ?? ""
    guard let courier = couriers[text], courier.token.expires > Timestamps.milliseconds(exchange.time) else {
      return respond(exchange, status: 410, html: "Gone")
    }
    if let notification = takeNotification(of: text) { return respond(exchange, notification: notification) }
    return hold(exchange, EmulatorHold(keepAlive: configuration.courierKeepAlive, token: text, exchange: exchange))
  }

  private func takeNotification(of token: String) -> Data? {
    guard couriers[token]?.notifications.isEmpty == false else { return nil }
    return couriers[token]?.notifications.removeFirst()
  }

  /// Queues a notification for all tokens of a user. [E]
  func push(_ notification: Data, to owner: DatabaseKey) {
    for token in pushTokens[owner] ?? [] {
      couriers[token]?.enqueue(notification)
      deliver(token)
    }
  }

  /// Answers a token's waiting poll if there is a notification.
  private func deliver(_ token: String) {
    guard let waiter = couriers[token]?.waiter, let notification = takeNotification(of: token) else { return }
    couriers[token]?.waiter = nil
    let reply = respond(waiter.exchange, notification: notification)
    afterwards.append { waiter.resume(reply) }
  }

  /// Registers a held poll. An earlier waiting poll of the same token ends as if its keep-alive time were over. [E]
  func wait(for hold: EmulatorHold, _ resume: @escaping @Sendable (EmulatorReply) -> Void) -> UInt64 {
    waiters += 1
    guard couriers[hold.token] != nil else {
      let reply = respond(hold.exchange, status: 410, html: "Gone")
      afterwards.append { resume(reply) }
      return waiters
    }
    release(hold.token)
    guard couriers.values.count(where: { $0.waiter != nil }) < configuration.openPollLimit else {
      let reply = respond(hold.exchange, status: 503, html: "Service Unavailable")
      afterwards.append { resume(reply) }
      return waiters
    }
    couriers[hold.token]?.waiter = Courier.Waiter(id: waiters, exchange: hold.exchange, resume: resume)
    deliver(hold.token)
    return waiters
  }

  /// Answers a token's waiting poll with an empty response. With an ID, only that poll.
  func release(_ token: String, id: UInt64? = nil) {
    guard let waiter = couriers[token]?.waiter, id == nil || id == waiter.id else { return }
    couriers[token]?.waiter = nil
    let reply = respond(waiter.exchange, notification: nil)
    afterwards.append { waiter.resume(reply) }
  }

  /// Closes the connections of all waiting polls.
  func dropPolls() {
    for token in couriers.keys.sorted() {
      guard let waiter = couriers[token]?.waiter else { continue }
      couriers[token]?.waiter = nil
      let reply = drop(waiter.exchange)
      afterwards.append { waiter.resume(reply) }
    }
  }

  func apply(_ token: PushToken) {
    if let old = couriers[token.text]?.token.owner { pushTokens[old]?.removeAll { $0 == token.text } }
    couriers[token.text, default: Courier(token: token)].token = token
    pushTokens[token.owner, default: []].append(token.text)
  }

  func dropToken(_ text: String) {
    release(text)
    if let owner = couriers[text]?.token.owner { pushTokens[owner]?.removeAll { $0 == text } }
    couriers[text] = nil
  }
}
