import CloudKitEmulator
import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

/// An answer, read by Foundation's parser and not by the emulator's own.
struct Answer {
  let status: Int
  let headers: [EmulatorHeader]
  let text: String
  let object: [String: Any]

  init(_ response: EmulatorResponse) {
    status = response.status
    headers = response.headers
    text = String(decoding: response.body, as: UTF8.self)
    object = (try? JSONSerialization.jsonObject(with: response.body)) as? [String: Any] ?? [:]
  }

  var code: String? { object["serverErrorCode"] as? String }
  var reason: String? { object["reason"] as? String }
  var records: [[String: Any]] { object["records"] as? [[String: Any]] ?? [] }
  var zones: [[String: Any]] { object["zones"] as? [[String: Any]] ?? [] }
  var names: [String] { records.compactMap { $0["recordName"] as? String } }
  /// What became of each record: an error code, `deleted` or `saved`.
  var outcomes: [String] {
    records.map { $0["serverErrorCode"] as? String ?? ($0["deleted"] as? Bool == true ? "deleted" : "saved") }
  }
  var tags: [String?] { records.map { $0["recordChangeTag"] as? String } }
  func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

/// An emulator with a clock that moves one second per request, and a user `ana` with a private zone `notes`.
final class Fixture: Sendable {
  let emulator: Emulator
  static let start = Date(timeIntervalSince1970: 1_767_322_800)
  private let seconds = Mutex(start.timeIntervalSince1970)

  init(_ configuration: EmulatorConfiguration = EmulatorConfiguration(), path: String? = nil) throws {
    var configuration = configuration
    configuration.seed = configuration.seed ?? 0
    // On a busy machine a test may say nothing for longer than a client would, and see a poll only after its end.
    let standard = EmulatorConfiguration()
    if configuration.idleTimeout == standard.idleTimeout { configuration.idleTimeout = .seconds(3600) }
    if configuration.courierKeepAlive == standard.courierKeepAlive { configuration.courierKeepAlive = .seconds(3600) }
    emulator = try Emulator(configuration: configuration, path: path)
  }

  /// Returns the web auth token that the sign-in page gives a user; `nil` if it refuses.
  func signIn(_ user: String) throws -> String? {
    let request = EmulatorRequest(method: "GET", path: "/sign-in", query: "user=\(user)")
    guard case .respond(let response) = emulator.handle(request, at: now).outcome else { return nil }
    return Answer(response).text.firstMatch(of: /<code>(.*)<\/code>/).map { String($0.1) }
  }

  /// A fixture whose zone `notes` exists.
  static func withZone(_ configuration: EmulatorConfiguration = EmulatorConfiguration()) throws -> Fixture {
    let fixture = try Fixture(configuration)
    try fixture.createZone("notes")
    return fixture
  }

  /// Serves a fixture over HTTP, with its zone `notes` and its clock, for as long as a body takes.
  static func serve(
    _ change: (inout EmulatorConfiguration) -> Void = { _ in },
    _ body: (Fixture, Int) async throws -> Void
  ) async throws {
    var configuration = EmulatorConfiguration()
    change(&configuration)
    let fixture = try Fixture.withZone(configuration)
    let server = EmulatorServer(fixture.emulator, now: { fixture.now })
    try await body(fixture, try await server.start())
    try await server.stop(grace: .zero)
  }

  /// Makes a data file with the records `a`, which is damaged, and `b`.
  static func makeDamagedFile(_ path: String, _ damage: String) throws {
    try {
      let fixture = try Fixture(path: path)
      try fixture.createZone("notes")
      _ = try fixture.modify(save("a", #""n":{"value":1}"#), save("b"))
    }()
    try DatabaseQueue(path: path).inDatabase { db in
      try db.execute(sql: "UPDATE record SET \(damage) WHERE name = 'a'")
    }
  }

  static let ana = "ckAPIToken=token&ckWebAuthToken=ana"

  var now: Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }

  func pass(_ interval: Double) { seconds.withLock { $0 += interval } }

  func reply(
    _ operation: String,
    _ body: String = "{}",
    database: String = "private",
    query: String = Fixture.ana,
    method: String = "POST",
    headers: [EmulatorHeader] = []
  ) -> EmulatorReply {
    pass(1)
    return emulator.handle(
      EmulatorRequest(
        method: method,
        path: "/database/1/iCloud.test/development/\(database)/\(operation)",
        query: query,
        headers: headers,
        body: method == "GET" ? Data() : Data(body.utf8)
      ),
      at: now
    )
  }

  func post(
    _ operation: String,
    _ body: String = "{}",
    database: String = "private",
    query: String = Fixture.ana,
    method: String = "POST",
    headers: [EmulatorHeader] = []
  ) throws -> Answer {
    let reply = reply(operation, body, database: database, query: query, method: method, headers: headers)
    return Answer(try #require(reply.response, "the connection was dropped"))
  }

  func createZone(_ name: String) throws {
    _ = try post(
      "zones/modify",
      #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(name)"}}}]}"#
    )
  }

  func deleteZone(_ name: String) throws -> Answer {
    try post("zones/modify", #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"\#(name)"}}}]}"#)
  }

  /// Sends operations to the zone `notes`.
  func modify(_ operations: String..., atomic: Bool = false, zone: String = "notes") throws -> Answer {
    try post(
      "records/modify",
      #"{"zoneID":{"zoneName":"\#(zone)"},"atomic":\#(atomic),"operations":[\#(operations.joined(separator: ","))]}"#
    )
  }

  func query(_ query: String, _ more: String = "") throws -> Answer {
    try post("records/query", #"{"zoneID":{"zoneName":"notes"},"query":{"recordType":"Note",\#(query)}\#(more)}"#)
  }

  func changes(_ token: String? = nil, _ more: String = "", zone: String = "notes") throws -> Answer {
    let token = token.map { #","syncToken":"\#($0)""# } ?? ""
    let answer = try post("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}\#(token)\#(more)}]}"#)
    return answer
  }

  /// Fills the zone `notes` with `n000`, `n001`, … whose field `n` is their number.
  func fill(_ count: Int) throws {
    for start in stride(from: 0, to: count, by: 200) {
      let operations = (start..<min(count, start + 200)).map {
        Fixture.save("n" + Fixture.padded($0), #""n":{"value":\#($0)}"#)
      }
      let answer = try modify(operations.joined(separator: ","))
      #expect(answer.outcomes.allSatisfy { $0 == "saved" })
    }
  }

  static func padded(_ number: Int) -> String {
    String(repeating: "0", count: max(0, 3 - String(number).count)) + String(number)
  }

  static func save(_ name: String, _ fields: String = "", type: String = "forceUpdate", more: String = "") -> String {
    #"{"operationType":"\#(type)","record":{"recordName":"\#(name)","recordType":"Note","fields":{\#(fields)}\#(more)}}"#
  }

  static func delete(_ name: String) -> String {
    #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#
  }
}

extension [String: Any] {
  /// The value of a record's field.
  func value(_ field: String) -> Any? {
    ((self["fields"] as? [String: Any])?[field] as? [String: Any])?["value"]
  }
}

/// A directory of its own for each test that needs a file.
func withTemporaryDirectory<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
  let folder = try TemporaryFolder()
  defer { withExtendedLifetime(folder) {} }
  return try await body(folder.url)
}
