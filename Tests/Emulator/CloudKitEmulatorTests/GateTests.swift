import Foundation
import Testing

@testable import CloudKitEmulator

/// The gate alone: which requests it admits, and the first reason to refuse one.
@Suite struct GateTests {
  @Test func `of several reasons to refuse a request, the first in their order is given`() {
    let reasons: [(cause: (inout Attempt) -> Void, refusal: Cause)] = [
      ({ $0.gate.isOffline = true }, .offline),
      ({ $0.request.method = "GET" }, .methodNotAllowed),
      ({ $0.request.body = Data("[ no JSON".utf8) }, .page(413)),
      ({ $0.gate.throttledUntil = Fixture.start + 9.5 }, .error(.throttled, retryAfter: 10)),
      ({ $0.gate.injector = FaultInjector(plan: FaultPlan(rules: [FaultRule(then: .dropBeforeCommit)])) }, .dropped),
      ({ $0.request.query = "ckAPIToken=token" }, .error(.authenticationRequired)),
      ({ $0.gate.configuration.assumptions.requestsPerSecond = 0 }, .error(.throttled, retryAfter: 1)),
      ({ $0.request.body = Data("[".utf8) }, .error(.badRequest)),
    ]

    for first in reasons.indices {
      var attempt = Attempt()
      // A body has one fault only, so the later one is set first.
      for reason in reasons[first...].reversed() { reason.cause(&attempt) }
      #expect(attempt.admit() == reasons[first].refusal, "reason \(first)")
    }
    var valid = Attempt()
    #expect(valid.admit() == nil)
  }

  @Test func `the forced end of a request outside the databases is a bare status`() {
    let ends: [(FaultAction, Cause?)] = [
      (.offline, .offline), (.dropBeforeCommit, .dropped), (.throttled(retryAfter: 3), .page(429)),
      (.tryAgainLater(retryAfter: nil), .page(503)), (.internalError, .page(500)),
      (.badGateway(status: 504), .page(504)),
      (.tooLarge, .page(413)), (.quotaExceeded, .page(413)), (.authExpired, .page(401)), (.dropAfterCommit, nil),
      (.truncateAnswer, nil), (.delay(milliseconds: 5), nil),
    ]

    for (action, refusal) in ends {
      var gate = CloudKitEmulator.Gate(EmulatorConfiguration())
      gate.injector = FaultInjector(plan: FaultPlan(rules: [FaultRule(then: action)]))
      var exchange = Exchange(EmulatorRequest(path: "/aps"), at: Fixture.start)
      #expect(Cause { () throws(Refusal) in try gate.admit(&exchange) } == refusal, "\(action.name)")
    }
  }

  @Test func `only the last token that a user got is admitted, if that is wanted`() {
    var attempt = Attempt()
    attempt.gate.configuration.strictWebAuth = true
    let tokens: [(String, Cause?)] = [
      ("ana", nil), ("ana", .error(.authenticationRequired)), ("ana~1", nil),
      ("ana~1", .error(.authenticationRequired)),
      ("bob~7", nil), ("ana~2", nil),
    ]

    for (token, refusal) in tokens {
      attempt.request.query = "ckAPIToken=token&ckWebAuthToken=\(token)"
      #expect(attempt.admit() == refusal, "\(token)")
    }
  }
}

/// A refusal without its prose.
private enum Cause: Equatable {
  case offline
  case dropped
  case methodNotAllowed
  case error(ServerError.Code, retryAfter: Double? = nil)
  case page(Int)

  init?(_ admit: () throws(Refusal) -> Void) {
    do throws(Refusal) {
      try admit()
      return nil
    } catch {
      switch error {
      case .offline: self = .offline
      case .dropped: self = .dropped
      case .methodNotAllowed: self = .methodNotAllowed
      case .error(let error): self = .error(error.code, retryAfter: error.retryAfter)
      case .page(let status, _, _, _): self = .page(status)
      }
    }
  }
}

/// A valid call, and what a test changes of it.
private struct Attempt {
  var gate = CloudKitEmulator.Gate(EmulatorConfiguration())
  var request = EmulatorRequest(
    path: "/database/1/iCloud.test/development/private/records/modify",
    query: Fixture.ana,
    body: Data("{}".utf8)
  )

  init() { gate.configuration.bodySizeLimit = 5 }

  mutating func admit() -> Cause? {
    guard let route = Route(path: request.path) else { preconditionFailure("The path of a test must be valid.") }
    var exchange = Exchange(request, at: Fixture.start)
    exchange.route = route
    exchange.readBody()
    let configuration = gate.configuration
    let authentication = Authentication(request, route: route, configuration: configuration, at: exchange.time)
    return Cause { () throws(Refusal) in _ = try gate.admit(&exchange, authentication) }
  }
}
