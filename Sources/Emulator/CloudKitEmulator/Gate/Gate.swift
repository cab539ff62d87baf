import Foundation
import JSONText

/// Decides which requests are admitted, and counts them. It does not read stored data.
struct Gate {
  var configuration: EmulatorConfiguration
  var isOffline = false
  var throttledUntil: Date?
  var injector = FaultInjector(plan: FaultPlan())
  /// The number of renewals of the last web auth token of each user, under `strictWebAuth`.
  var lastTokens: [String: UInt64] = [:]
  /// The number of requests of each caller in one second, counted only if there is a limit.
  private var rates: (second: Int64, requests: [String: Int]) = (0, [:])
  var statistics = EmulatorStatistics()

  init(_ configuration: EmulatorConfiguration) { self.configuration = configuration }

  /// Admits a call of the service, or throws the first reason to refuse it.
  mutating func admit(_ exchange: inout Exchange, _ authentication: Authentication) throws(Refusal) -> Call {
    let (request, route) = (exchange.request, authentication.route)
    exchange.nextToken = authentication.nextToken
    if isOffline { throw .offline }
    // Observed for one path [L3] and assumed for all [E].
    let methods = route.operation.methods(configuration.assumptions)
    guard methods.contains(request.method) else { throw .methodNotAllowed(methods) }
    // This limit belongs to a proxy, not to the service, so the response is not JSON. [E]
    guard request.body.count <= configuration.bodySizeLimit else { throw .page(413) }
    if let throttledUntil, throttledUntil > exchange.time {
      let seconds = throttledUntil.timeIntervalSince(exchange.time).rounded(.up)
      throw .error(ServerError(.throttled, "Request throttled", retryAfter: seconds))
    }
    var authentication = authentication
    if hasFaults {
      let body = (try? exchange.body.get()) ?? [:]
      exchange.faults = injector.effects(
        on: FaultInjector.Subject(route: route, caller: try? authentication.caller.get(), body: body)
      )
    }
    renew(&authentication, of: request)
    if let user = exchange.faults.newUser { switchAccount(to: user, &authentication) }
    exchange.nextToken = authentication.nextToken
    switch exchange.faults.ending {
    case .refused(let refusal): throw refusal
    case .signedOut:
      exchange.nextToken = nil
      throw .error(authentication.expiry(request))
    case nil, .answerLost, .answerTruncated: break
    }
    do throws(ServerError) {
      let caller = try authentication.caller.get()
      try limitRate(of: caller, at: exchange.time)
      return Call(
        route: route,
        caller: caller,
        body: try exchange.body.get(),
        time: exchange.time,
        baseURL: request.baseURL,
        faults: exchange.faults,
        wantsSyncToken: authentication.wantsSyncToken
      )
    } catch {
      throw .error(error)
    }
  }

  /// Admits a request outside the databases, or throws the reason to refuse it. Such requests use plain HTTP, so faults
  /// are bare statuses here. [L3]
  mutating func admit(_ exchange: inout Exchange) throws(Refusal) {
    if isOffline { throw .offline }
    if hasFaults { exchange.faults = injector.effects(on: FaultInjector.Subject(operation: exchange.operation)) }
    switch exchange.faults.ending {
    case .refused(let refusal): throw refusal.plain
    case .signedOut: throw .page(401)
    case nil, .answerLost, .answerTruncated: break
    }
  }

  private var hasFaults: Bool { !injector.plan.rules.isEmpty }

  /// Enforces the limit of requests per second, by the time of the requests. [E] (Question 22)
  private mutating func limitRate(of caller: Caller, at time: Date) throws(ServerError) {
    guard let limit = configuration.assumptions.requestsPerSecond else { return }
    let second = Timestamps.milliseconds(time) / 1000
    if rates.second != second { rates = (second, [:]) }
    let name = caller.recordName ?? ""
    rates.requests[name, default: 0] += 1
    guard rates.requests[name, default: 0] <= limit else {
      throw ServerError(.throttled, "Request throttled", retryAfter: 1)
    }
  }

  /// Returns a token that differs from all earlier tokens of the user, under `strictWebAuth`.
  mutating func newToken(for token: WebAuthToken) -> WebAuthToken {
    guard configuration.strictWebAuth else { return token }
    var new = token
    new.renewals = (lastTokens[token.name] ?? 0) &+ 1
    lastTokens[new.name] = new.renewals
    return new
  }

  /// Replaces the signed-in user with another one. Server-to-server keys are not affected.
  private mutating func switchAccount(to name: String, _ authentication: inout Authentication) {
    guard case .success(.user) = authentication.caller, let token = WebAuthToken(name) else { return }
    authentication.caller = .success(.user(name: token.name, nextToken: newToken(for: token).text(configuration)))
  }

  /// Enforces `strictWebAuth`: as documented, a token is valid for one round trip [D], so only the last one issued is
  /// accepted. The first token of a user that this process sees counts as issued. [E]
  private mutating func renew(_ authentication: inout Authentication, of request: EmulatorRequest) {
    guard configuration.strictWebAuth, case .success(.user(let name, let next)) = authentication.caller,
      let token = WebAuthToken(next, configuration)
    else { return }
    if let last = lastTokens[name], token.renewals != last &+ 1 {
      authentication.caller = .failure(Authentication.signInNeeded(request, authentication.route))
    } else {
      lastTokens[name] = token.renewals
    }
  }
}
