import Foundation

/// A device as far as pushes are concerned.
struct PushToken {
  /// Twelve hours. [L3]
  static let lifetime: Int64 = 43_200_000
  /// How many one user may have in a container. [E]
  static let limit = 100
  /// The path of the long poll, as at the real host. [L3]
  static let path = "/aps"

  var text: String
  /// The private database of the user who is told.
  var owner: DatabaseKey
  /// Milliseconds since 1970.
  var expires: Int64
}

/// The long poll of one token: the notifications that wait for it, or the one poll that waits for a notification. [L3]
struct Courier {
  /// Pushes are hints; of too many the oldest are dropped, as APNs does. [E]
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
  /// Answers a poll at once where something waits for it; otherwise it is held. [L3]
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

  /// Puts a notification into the queues of all of a user's tokens. [E]
  func push(_ notification: Data, to owner: DatabaseKey) {
    for token in pushTokens[owner] ?? [] {
      couriers[token]?.enqueue(notification)
      deliver(token)
    }
  }

  /// Answers the poll that waits for a token, if both a poll and a notification are there.
  private func deliver(_ token: String) {
    guard let waiter = couriers[token]?.waiter, let notification = takeNotification(of: token) else { return }
    couriers[token]?.waiter = nil
    let reply = respond(waiter.exchange, notification: notification)
    afterwards.append { waiter.resume(reply) }
  }

  /// Lets a held poll wait. A poll of the same token that waits already ends as after its keep-alive. [E]
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

  /// Answers the poll that waits for a token with nothing; with an ID only that one.
  func release(_ token: String, id: UInt64? = nil) {
    guard let waiter = couriers[token]?.waiter, id == nil || id == waiter.id else { return }
    couriers[token]?.waiter = nil
    let reply = respond(waiter.exchange, notification: nil)
    afterwards.append { waiter.resume(reply) }
  }

  /// Cuts the connections of all polls.
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
