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

/// The notifications that wait for polls, and the polls that wait for notifications. (reference 5.10) [L3]
struct Push {
  /// The long poll of one token: its queued notifications, or the poll that waits for one.
  struct Courier {
    /// The maximum number of queued notifications. Beyond it, the oldest are dropped, as APNs does. [E]
    static let limit = 100

    var notifications: [Data] = []
    var waiter: (hold: EmulatorHold, resume: @Sendable (EmulatorReply) -> Void)?
  }

  /// The couriers by token.
  var couriers: [String: Courier] = [:]
  /// The numbers of notifications sent and polls held since the start.
  var sent = 0
  var polls: UInt64 = 0
  /// The callbacks to call after the core is unlocked.
  var pendingCallbacks: [@Sendable () -> Void] = []

  var waiting: Int { couriers.values.count { $0.waiter != nil } }

  /// Copies the queued notifications of another emulator.
  mutating func adopt(_ other: Push) {
    couriers = other.couriers.mapValues { Courier(notifications: $0.notifications) }
    sent = other.sent
  }

  /// Takes the oldest queued notification of a token.
  mutating func take(_ token: String) -> Data? {
    guard couriers[token]?.notifications.isEmpty == false else { return nil }
    return couriers[token]?.notifications.removeFirst()
  }

  fileprivate mutating func enqueue(_ notification: Data, for token: String) {
    couriers[token, default: Courier()].notifications.append(notification)
    if couriers[token]?.notifications.count ?? 0 > Courier.limit { couriers[token]?.notifications.removeFirst() }
  }
}

extension EmulatorCore {
  /// Answers a poll at once if a notification is queued; otherwise holds it. [L3]
  func poll(_ exchange: Exchange) -> EmulatorReply {
    handle(exchange) { (exchange) throws(Refusal) in
      try gate.admit(&exchange)
      guard exchange.request.method == "GET" else { throw .page(405) }
      let text = QueryString.values(exchange.request.query)["tok"] ?? ""
      guard let token = world.pushTokens[text], token.expires > Timestamps.milliseconds(exchange.time) else {
        throw .page(410)
      }
      if let notification = push.take(text) { return gate.respond(exchange, .json, notification) }
      push.polls += 1
      let keepAlive = gate.configuration.courierKeepAlive
      return gate.hold(EmulatorHold(keepAlive: keepAlive, token: text, id: push.polls, exchange: exchange))
    }
  }

  /// Queues a notification for all tokens of its user. [E]
  func send(_ notification: Notification, counter: Int64) {
    push.sent += 1
    let id = Derived.uuid("\(world.seed)/push/\(notification.database.path)/\(counter)/\(push.sent)", isLowercase: true)
    if let tokens = world.tokensByOwner[notification.owner], !tokens.isEmpty {
      let payload = notification.payload(id: id)
      for token in tokens {
        push.enqueue(payload, for: token)
        deliver(token)
      }
    }
    guard let key = notification.lastOf else { return }
    // If the commit fails, the subscription fires once more, which is harmless.
    let home = key.scope == .public ? notification.database : notification.owner
    try? commit(world.commit(of: [.unsubscribed(key)], in: home))
  }

  /// Answers a token's waiting poll if there is a notification.
  private func deliver(_ token: String) {
    guard push.couriers[token]?.waiter != nil, let notification = push.take(token) else { return }
    end(token) { gate.respond($0, .json, notification) }
  }

  /// Registers a held poll. An earlier waiting poll of the same token ends as if its keep-alive time were over. [E]
  func wait(for hold: EmulatorHold, _ resume: @escaping @Sendable (EmulatorReply) -> Void) {
    release(hold.token)
    let isKnown = world.pushTokens[hold.token] != nil
    if isKnown, push.waiting < gate.configuration.openPollLimit {
      push.couriers[hold.token, default: Push.Courier()].waiter = (hold, resume)
      deliver(hold.token)
    } else {
      let reply = gate.refuse(hold.exchange, .page(isKnown ? 503 : 410))
      push.pendingCallbacks.append { resume(reply) }
    }
  }

  /// Answers a token's waiting poll with an empty response. With an ID, only that poll.
  func release(_ token: String, id: UInt64? = nil) {
    end(token, id: id) { gate.respond($0, .json, result: "200 keep-alive") }
  }

  /// Ends all waiting polls with an empty response.
  func releasePolls() {
    for token in push.couriers.keys.sorted() { release(token) }
  }

  /// Closes the connections of all waiting polls.
  func dropPolls() {
    for token in push.couriers.keys.sorted() { end(token) { gate.refuse($0, .dropped) } }
  }

  private func end(_ token: String, id: UInt64? = nil, _ reply: (Exchange) -> EmulatorReply) {
    guard let waiter = push.couriers[token]?.waiter, id == nil || id == waiter.hold.id else { return }
    push.couriers[token]?.waiter = nil
    let reply = reply(waiter.hold.exchange)
    push.pendingCallbacks.append { [resume = waiter.resume] in resume(reply) }
  }
}
