import CloudKitSchema
import Foundation
import JSONText
import Synchronization

/// The admin endpoint: inspects and controls an emulator over HTTP, like the Swift API, for programs in any language.
package struct AdminEndpoint: Sendable {
  static let path = "/emulator"
  /// The maximum size of a body in bytes; the same as that of a schema.
  static let bodyLimit = CKSchema.sizeLimit

  /// The requests, a line each.
  package static let overview = """
    GET    /emulator/state                 all databases, zones and records as text: equal states give equal texts
    GET    /emulator/statistics            requests, outcomes, records, and how often each fault rule applied
    GET    /emulator/faults                the fault plan as JSON
    PUT    /emulator/faults                {"rules": [{"when": {"operation": "records/modify"}, "then": "offline"}]}
    POST   /emulator/advance               {"seconds": 3600} moves the clock 1 h ahead: tokens and URLs expire
    POST   /emulator/offline               {"offline": true} closes every connection without a reply; false ends it
    POST   /emulator/throttle              {"seconds": 15} answers THROTTLED for that long; 0 ends it
    GET    /emulator/schema?container=ID   the schema in CloudKit's language; &environment=production
    PUT    /emulator/schema?container=ID   replaces it with a .ckdb file
    POST   /emulator/deploy?container=ID   deploys the development schema to production
    POST   /emulator/snapshot              {"name": "empty"} saves the whole state under a name until the server ends
    POST   /emulator/restore               {"name": "empty"} restores it
    DELETE /emulator/snapshot?name=empty   deletes it
    """

  let emulator: Emulator
  let access: AdminAccess
  /// The emulator's clock.
  let now: @Sendable () -> Date
  private let snapshots = Snapshots()

  init(emulator: Emulator, access: AdminAccess, now: @escaping @Sendable () -> Date) {
    (self.emulator, self.access, self.now) = (emulator, access, now)
  }

  /// The named snapshots, kept until the server ends.
  private final class Snapshots: Sendable {
    static let limit = 20
    let byName = Mutex<[String: EmulatorSnapshot]>([:])
  }

  static func has(path: String) -> Bool {
    path == Self.path || path.hasPrefix(Self.path + "/")
  }

  /// The reason why a request failed, in one line.
  private struct Failure: Error {
    var status = 400
    var reason: String
  }

  func reply(to request: EmulatorRequest) -> EmulatorReply {
    let response: EmulatorResponse
    do throws(Failure) {
      if let refusal = access.refusal(request) { throw Failure(status: refusal.status, reason: refusal.reason) }
      guard request.body.count <= Self.bodyLimit else {
        throw Failure(status: 413, reason: "the body exceeds \(Self.bodyLimit) bytes")
      }
      response = try answer(request)
    } catch {
      response = Self.json(["error": .string(error.reason)], status: error.status)
    }
    let summary = EmulatorSummary(
      method: request.method,
      path: request.path,
      operation: "admin",
      database: "",
      items: 0,
      result: "\(response.status)",
      faults: []
    )
    return EmulatorReply(outcome: .respond(response), delay: .zero, summary: summary)
  }

  private func answer(_ request: EmulatorRequest) throws(Failure) -> EmulatorResponse {
    let name = String(request.path.dropFirst(Self.path.count).drop { $0 == "/" })
    switch (request.method, name) {
    case ("GET", ""): return Self.text(Self.overview + "\n")
    case ("GET", "state"): return Self.text(emulator.dump())
    case ("GET", "statistics"): return Self.json(statistics)
    case ("GET", "faults"): break
    case ("PUT", "faults"):
      do throws(FaultPlan.Invalid) {
        emulator.faults = try FaultPlan(json: request.body)
      } catch {
        throw Failure(reason: error.description)
      }
    case ("POST", "advance"):
      emulator.advance(by: .seconds(try number("seconds", request, upTo: 1e9)))
      return Self.json(["secondsAhead": .double(emulator.timeAhead / .seconds(1))])
    case ("POST", "offline"):
      guard let isOffline = try body(request)["offline"]?.bool else {
        throw Failure(reason: #"the body must be {"offline": true} or {"offline": false}"#)
      }
      emulator.isOffline = isOffline
      return Self.json(["offline": .bool(isOffline)])
    case ("POST", "throttle"):
      let seconds = try number("seconds", request, upTo: 1e9)
      emulator.throttle(until: seconds > 0 ? now().addingTimeInterval(seconds) : nil)
      return Self.json(["seconds": .double(seconds)])
    case ("GET", "schema"), ("PUT", "schema"), ("POST", "deploy"):
      return Self.text(try schema(request))
    case ("POST", "snapshot"):
      let name = try self.name(request)
      guard snapshots.byName.withLock({ $0[name] != nil || $0.count < Snapshots.limit }) else {
        throw Failure(reason: "the limit is \(Snapshots.limit) snapshots; delete one, or reuse its name")
      }
      let snapshot = try attempt("the state cannot be copied") { try emulator.snapshot() }
      snapshots.byName.withLock { $0[name] = snapshot }
      return Self.json(["name": .string(name)])
    case ("DELETE", "snapshot"):
      guard let name = QueryString.values(request.query)["name"] else {
        throw Failure(reason: "the query must name a snapshot, as in ?name=empty")
      }
      guard snapshots.byName.withLock({ $0.removeValue(forKey: name) }) != nil else { throw Self.noSnapshot(name) }
      return Self.json(["name": .string(name)])
    case ("POST", "restore"):
      let name = try self.name(request)
      guard let snapshot = snapshots.byName.withLock({ $0[name] }) else {
        throw Self.noSnapshot(name)
      }
      try attempt("the state cannot be restored") { try emulator.restore(snapshot) }
      return Self.json(["name": .string(name)])
    default:
      throw Failure(status: 404, reason: "unknown request \(request.method) \(request.path); GET /emulator lists all")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let plan = try? encoder.encode(emulator.faults) else {
      throw Failure(status: 500, reason: "the plan cannot be encoded")
    }
    return Self.response(200, "application/json; charset=UTF-8", plan + Data("\n".utf8))
  }

  /// Imports or deploys a schema if the method asks for it, and returns the resulting schema.
  private func schema(_ request: EmulatorRequest) throws(Failure) -> String {
    let query = QueryString.values(request.query)
    guard let container = query["container"] else {
      throw Failure(reason: "the query must name a container, as in ?container=iCloud.org.example.App")
    }
    var environment = query["environment"] ?? "development"
    do {
      switch request.method {
      case "PUT":
        let text = String(decoding: request.body, as: UTF8.self)
        try emulator.importSchema(text, container: container, environment: environment)
      case "POST":
        try emulator.deploySchema(of: container)
        environment = "production"
      default: break
      }
    } catch let error as EmulatorError {
      throw Failure(reason: error.reason)
    } catch {
      throw Failure(reason: "\(error)")
    }
    return emulator.exportSchema(container: container, environment: environment)
  }

  private func body(_ request: EmulatorRequest) throws(Failure) -> JSONObject {
    do throws(JSONError) {
      guard let object = try JSON(json: request.body).object else {
        throw JSONError(reason: "expected an object", offset: 0)
      }
      return object
    } catch {
      throw Failure(reason: "the body is not a JSON object: \(error)")
    }
  }

  private func name(_ request: EmulatorRequest) throws(Failure) -> String {
    guard let name = try body(request)["name"]?.string, !name.isEmpty, name.utf8.count <= 255 else {
      throw Failure(reason: #"the body must be {"name": "…"}"#)
    }
    return name
  }

  private static func noSnapshot(_ name: String) -> Failure {
    Failure(status: 404, reason: "there is no snapshot '\(name)'; create it with POST /emulator/snapshot")
  }

  private func attempt<Value>(_ reason: String, _ body: () throws -> Value) throws(Failure) -> Value {
    do {
      return try body()
    } catch {
      throw Failure(status: 500, reason: "\(reason): \(error)")
    }
  }

  private func number(_ key: String, _ request: EmulatorRequest, upTo limit: Double) throws(Failure) -> Double {
    guard let number = try body(request)[key]?.number, (0...limit).contains(number) else {
      throw Failure(reason: "the body must be {\"\(key)\": N} with a number N of 0 or more")
    }
    return number
  }

  private var statistics: JSONObject {
    let statistics = emulator.statistics
    let counts = { (counts: [String: Int]) in
      var object = JSONObject()
      for (key, count) in counts.sorted(by: { $0.key < $1.key }) { object.append(key, .int(Int64(count))) }
      return JSON.object(object)
    }
    let faults = zip(emulator.faults.rules, emulator.faultCounts).map { rule, count in
      JSON.object([
        "action": .string(rule.then.name), "matched": .int(Int64(count.matched)), "applied": .int(Int64(count.applied)),
      ])
    }
    return [
      "requests": .int(Int64(statistics.requests)), "requestsByOperation": counts(statistics.requestsByOperation),
      "outcomes": counts(statistics.outcomes), "itemErrors": .int(Int64(statistics.itemErrors)),
      "atomicFailures": .int(Int64(statistics.atomicFailures)), "recordsSaved": .int(Int64(statistics.recordsSaved)),
      "recordsDeleted": .int(Int64(statistics.recordsDeleted)), "records": .int(Int64(emulator.recordCount())),
      "assets": .int(Int64(emulator.assetCount)), "waitingPolls": .int(Int64(emulator.waitingPolls)),
      "offline": .bool(emulator.isOffline), "secondsAhead": .double(emulator.timeAhead / .seconds(1)),
      "faults": .array(faults),
    ]
  }

  private static func json(_ object: JSONObject, status: Int = 200) -> EmulatorResponse {
    response(status, "application/json; charset=UTF-8", JSON.object(object).data + Data("\n".utf8))
  }

  private static func text(_ text: String) -> EmulatorResponse {
    response(200, "text/plain; charset=UTF-8", Data(text.utf8))
  }

  private static func response(_ status: Int, _ type: String, _ body: Data) -> EmulatorResponse {
    EmulatorResponse(status: status, headers: [EmulatorHeader("Content-Type", type)], body: body)
  }
}
