import Foundation
import JSONText

/// A request and the data collected while it is handled.
struct Exchange: Sendable {
  let request: EmulatorRequest
  let time: Date
  var route: Route?
  var nextToken: String?
  var body: Result<JSONObject, ServerError> = .success([:])
  /// The name of the request's operation in logs, statistics and faults.
  var operation = "unknown"
  /// The faults that apply to the request.
  var faults = FaultEffects()

  init(_ request: EmulatorRequest, at time: Date) {
    self.request = request
    self.time = time
  }

  mutating func readBody() {
    // List operations accept a POST without a body [E] or with `{}`. [L1] The content type is ignored: Apple's samples
    // send text/plain. [D]
    guard request.method != "GET", !(request.body.isEmpty && route?.operation.isList == true) else {
      return
    }
    do throws(JSONError) {
      // The parser of the service takes no byte order mark. [E]
      guard request.body.first != 0xEF else { throw JSONError(reason: "this is not a JSON value", offset: 0) }
      let json = try JSON(json: request.body)
      body = json.object.map { .success($0) } ?? .failure(.badRequest("Expected a JSON object"))
    } catch {
      body = .failure(.badRequest("BadRequestException: \(error)"))
    }
  }

  /// The number of items in the request, such as operations, records or zones.
  var items: Int {
    guard case .success(let body) = body else { return 0 }
    return Self.lists.reduce(0) { $0 + (body[$1]?.array?.count ?? 0) }
  }

  private static let lists = [
    "operations", "records", "zones", "lookupInfos", "tokens", "assets", "subscriptions", "users", "shortGUIDs",
  ]
}
