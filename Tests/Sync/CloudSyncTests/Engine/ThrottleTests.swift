import CloudKit
import Foundation
import Testing

@testable import CloudSync

/// The waits that replies set.
struct ThrottleTests {
  @Test func `a gateway that keeps failing is waited for longer each time`() throws {
    let store = try World().open("store")
    let error = WebServicesError(.unexpectedServerResponse, "502 Bad Gateway")

    let seconds = try store.write { ledger in
      try (0..<4).map { _ in
        try Throttles.set(.network, error, now: 0, random: 1, ledger)
        return try ledger.wait(.network)?.seconds ?? 0
      }
    }

    #expect(zip(seconds, seconds.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func `a look-up whose records are all throttled sets one wait, as long as the server asked`() async throws {
    let world = try World()
    let device = try world.device("mine")
    let names = (1...8).map { "r\($0)" }
    for name in names { try device.store.accept(world.put(name, [:])) }
    try device.store.execute("UPDATE operations SET needsVerification = 1")
    let items = names.map { #"{"recordName":"\#($0)","serverErrorCode":"THROTTLED","reason":"wait","retryAfter":30}"# }
    device.transport.answer("records/lookup", #"{"records":[\#(items.joined(separator: ","))]}"#)

    try await device.sync()

    #expect(try device.store.read { try $0.waits(after: 0) }.map(\.seconds) == [30])
    #expect(device.transport.count("records/lookup") == 1)
    #expect(device.transport.count("records/modify") == 0)
  }

  @Test func `what a reply says of the account outlives the throttle beside it`() throws {
    let store = try World().open("store")
    let waits: [WaitScope: WebServicesError] = [
      .account: WebServicesError(.authenticationFailed, "no"), .database: WebServicesError(.throttled, "slow down"),
    ]

    try store.write { try Throttles.set(waits, now: 0, random: 1, $0) }

    #expect(try store.status().accountProblem?.code == "AUTHENTICATION_FAILED")
  }

  @Test(arguments: ["nan", "inf", "-inf", "-5", "1e300", "soon"])
  func `a wait that is no number ends nothing and parks nobody`(_ header: String) async throws {
    let world = try World()
    let store = try world.open("store")
    // With nothing to save, a full quota stops nothing.
    _ = try store.accept(world.put("a", ["x": .int64(1)]))
    for code in [ServerErrorCode.authenticationFailed, .quotaExceeded, .throttled] {
      var error = WebServicesError(code, "no", retryAfter: Double(header))
      error.retryAfter = Double(header)
      #expect(error.retryAfter == (header == "1e300" ? 315_576_000 : nil))
      try store.write { ledger in
        try Throttles.set(.account, error, now: store.now(), random: 0, ledger)
        try Throttles.set(.quota, error, now: store.now(), random: 0, ledger)
        try Throttles.set(.database, error, now: store.now(), random: 0, ledger)
      }
    }
    #expect(try store.status().throttles.map(\.scope.name) == ["database", "quota"])
  }
}

/// A proxy that takes few records at once.
@Suite(.serialized) struct SmallRequestTests {
  @Test func `half of what was sent is sent after a request was too large`() async throws {
    let world = try World()
    let device = try world.device("mine")
    for number in 0..<10 { try device.store.accept(world.put("r\(number)", ["x": .int64(1)])) }
    device.transport.interfere { operation, _, body in
      let records = body.components(separatedBy: "operationType").count - 1
      return operation == "records/modify" && records > 5 ? .answer(status: 413, "") : .pass
    }

    try await device.sync()

    #expect(try device.store.status().queue.total == 0)
    // All ten, then five and five.
    #expect(device.transport.count("records/modify") == 3)
  }
}
