import Foundation
import JSONText

/// Encodes results as HTTP responses with the service's headers (reference 1.2) [L3], and counts them. The UUID in an
/// error is that of the header. [E]
extension EmulatorCore {
  func respond(_ exchange: Exchange, status: Int, json: JSONObject, error: ServerError? = nil) -> EmulatorReply {
    let uuid = nextRequestUUID()
    var object = json
    if error != nil { object = JSONObject.joining(["uuid": .string(uuid)], json) }
    var headers = standardHeaders(exchange, uuid: uuid, contentType: "application/json; charset=UTF-8")
    // The documented place is the body, but some clients read the header, so both are sent. [E] (Question 25)
    if configuration.assumptions.sendsRetryAfterHeader,
      let seconds = (error?.retryAfter).flatMap({ Int(exactly: $0.rounded(.up)) })
    {
      headers.append(EmulatorHeader("Retry-After", String(seconds)))
    }
    let failures = object.failedItems
    statistics.itemErrors += failures
    let result =
      error.map { "\(status) \($0.code.rawValue)" + ($0.detail.map { " (\($0))" } ?? "") }
      ?? (failures > 0 ? "\(status) (\(failures) errors)" : "\(status)")
    return finish(
      exchange,
      .respond(EmulatorResponse(status: status, headers: headers, body: JSON.object(object).data)),
      result
    )
  }

  func refuse(_ exchange: Exchange, _ error: ServerError, status: Int? = nil) -> EmulatorReply {
    respond(exchange, status: status ?? error.code.status, json: error.members(), error: error)
  }

  /// Returns the response of a component in front of the service, such as a proxy, which has no JSON.
  func respond(_ exchange: Exchange, status: Int, html title: String, detail: String? = nil) -> EmulatorReply {
    let headers = standardHeaders(exchange, uuid: nextRequestUUID(), contentType: "text/html")
    let body = Data("<html><head><title>\(title)</title></head><body><h1>\(status) \(title)</h1></body></html>".utf8)
    return finish(
      exchange,
      .respond(EmulatorResponse(status: status, headers: headers, body: body)),
      "\(status) \(title)" + (detail.map { " (\($0))" } ?? "")
    )
  }

  /// Returns the content of a file. Its bytes are loaded while they are sent.
  func respond(_ exchange: Exchange, asset: StoredAsset) -> EmulatorReply {
    let headers = standardHeaders(exchange, uuid: nextRequestUUID(), contentType: "application/octet-stream")
    let response = EmulatorResponse(status: 200, headers: headers, body: Data(), asset: asset)
    return finish(exchange, .respond(response), "200")
  }

  /// Returns a notification, or the empty keep-alive response. [L3]
  func respond(_ exchange: Exchange, notification: Data?) -> EmulatorReply {
    let headers = standardHeaders(exchange, uuid: nextRequestUUID(), contentType: "application/json; charset=UTF-8")
    let response = EmulatorResponse(status: 200, headers: headers, body: notification ?? Data())
    return finish(exchange, .respond(response), notification == nil ? "200 keep-alive" : "200")
  }

  /// Holds a poll. It is counted when it is answered.
  func hold(_ exchange: Exchange, _ hold: EmulatorHold) -> EmulatorReply {
    EmulatorReply(outcome: .hold(hold), delay: .zero, summary: summary(exchange, "held"))
  }

  func respond(_ exchange: Exchange, page: String) -> EmulatorReply {
    let headers = standardHeaders(exchange, uuid: nextRequestUUID(), contentType: "text/html; charset=UTF-8")
    let response = EmulatorResponse(status: 200, headers: headers, body: Data(page.utf8))
    return finish(exchange, .respond(response), "200")
  }

  /// Closes the connection before anything takes effect.
  func drop(_ exchange: Exchange) -> EmulatorReply {
    finish(exchange, .drop(committed: false), "dropped")
  }

  func offline(_ exchange: Exchange) -> EmulatorReply {
    finish(exchange, .offline, "offline")
  }

  func preflight(_ exchange: Exchange) -> EmulatorReply {
    var headers = standardHeaders(exchange, uuid: nextRequestUUID(), contentType: "text/plain")
    let methods = "GET, POST, PUT, DELETE"
    headers.append(EmulatorHeader("Allow", methods))
    headers.append(EmulatorHeader("Access-Control-Allow-Methods", methods))
    if let names = exchange.request.header("access-control-request-headers") {
      headers.append(EmulatorHeader("Access-Control-Allow-Headers", names))
    }
    return finish(exchange, .respond(EmulatorResponse(status: 200, headers: headers, body: Data())), "200")
  }

  private func finish(_ exchange: Exchange, _ outcome: EmulatorReply.Outcome, _ result: String) -> EmulatorReply {
    var (outcome, result) = (outcome, result)
    if case .respond(let response) = outcome {
      switch exchange.faults.ending {
      case .answerLost: (outcome, result) = (.drop(committed: true), "dropped after commit")
      case .answerTruncated: (outcome, result) = (.truncate(response), "\(result) truncated")
      default: break
      }
    }
    statistics.requests += 1
    statistics.requestsByOperation[exchange.operation, default: 0] += 1
    // Statistics omit the details in parentheses.
    let bracket = result.utf8.firstIndex(of: UInt8(ascii: "("))
    statistics.outcomes[bracket.map { String(result[..<$0].dropLast()) } ?? result, default: 0] += 1
    return EmulatorReply(outcome: outcome, delay: .zero, summary: summary(exchange, result))
  }

  private func summary(_ exchange: Exchange, _ result: String) -> EmulatorSummary {
    EmulatorSummary(
      method: exchange.request.method,
      path: exchange.request.path,
      operation: exchange.operation,
      database: exchange.route?.scope.rawValue ?? "",
      items: exchange.items,
      result: result,
      faults: exchange.faults.names
    )
  }

  private func nextRequestUUID() -> String {
    Derived.uuid("\(seed)/request/\(statistics.requests)").lowercased()
  }

  private func standardHeaders(_ exchange: Exchange, uuid: String, contentType: String) -> [EmulatorHeader] {
    var headers = [
      EmulatorHeader("Content-Type", contentType),
      EmulatorHeader("Date", Timestamps.httpDate(exchange.time)),
      EmulatorHeader("X-Apple-Request-UUID", uuid),
      EmulatorHeader("X-Apple-CloudKit-Version", "1.0"),
    ]
    if let token = exchange.nextToken { headers.append(EmulatorHeader("X-Apple-CloudKit-Web-Auth-Token", token)) }
    // An allowed origin is echoed, as the service does for the origins of an API token. [L3]
    if let origin = exchange.request.header("origin"), origin.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      WebAccess.admits(origin, configuration)
    {
      headers += [
        EmulatorHeader("Access-Control-Allow-Origin", origin),
        EmulatorHeader("Access-Control-Allow-Credentials", "true"),
        EmulatorHeader(
          "Access-Control-Expose-Headers",
          "X-Apple-Request-UUID,X-Apple-CloudKit-Web-Auth-Token,X-Responding-Instance,Via"
        ),
      ]
    }
    return headers
  }
}

extension EmulatorReply {
  mutating func append(_ header: EmulatorHeader) {
    guard case .respond(var response) = outcome else { return }
    response.headers.append(header)
    outcome = .respond(response)
  }
}

extension JSONObject {
  static func joining(_ first: JSONObject, _ second: JSONObject) -> JSONObject {
    var object = first
    for member in second.members { object.append(member.key, member.value) }
    return object
  }

  /// The number of item errors in a successful response.
  fileprivate var failedItems: Int {
    (self["records"] ?? self["zones"] ?? self["assets"] ?? self["subscriptions"] ?? self["results"])?.array?.count {
      $0.object?["serverErrorCode"] != nil
    } ?? 0
  }
}
