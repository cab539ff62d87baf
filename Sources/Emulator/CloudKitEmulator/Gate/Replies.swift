import Foundation
import JSONText

/// Makes replies with the service's headers (reference 1.2) [L3], and counts them. The UUID in an error is that of the
/// header. [E]
extension Gate {
  /// The type of a response's body.
  enum ContentType: String {
    case json = "application/json; charset=UTF-8"
    case page = "text/html; charset=UTF-8"
    /// A page of a component in front of the service.
    case plainPage = "text/html"
    case plainText = "text/plain"
    case bytes = "application/octet-stream"
  }

  /// Returns the answer of the service.
  mutating func respond(_ exchange: Exchange, json: JSONObject) -> EmulatorReply {
    let failures = json.failedItems
    statistics.itemErrors += failures
    let result = failures > 0 ? "200 (\(failures) errors)" : "200"
    return respond(exchange, .json, JSON.object(json).data, result: result)
  }

  mutating func refuse(_ exchange: Exchange, _ refusal: Refusal) -> EmulatorReply {
    switch refusal {
    case .offline: return finish(exchange, .offline, "offline")
    case .dropped: return finish(exchange, .drop(committed: false), "dropped")
    case .error(let error): return refuse(exchange, error)
    case .methodNotAllowed(let methods):
      return refuse(exchange, .badRequest("Method not allowed"), status: 405, allow: methods.joined(separator: ", "))
    case .page(let status, let title, let headers, let detail):
      let title = title ?? Refusal.title(status)
      let body = "<html><head><title>\(title)</title></head><body><h1>\(status) \(title)</h1></body></html>"
      let result = "\(status) \(title)" + (detail.map { " (\($0))" } ?? "")
      return respond(exchange, .plainPage, Data(body.utf8), status: status, headers: headers, result: result)
    }
  }

  private mutating func refuse(
    _ exchange: Exchange,
    _ error: ServerError,
    status: Int? = nil,
    allow: String? = nil
  ) -> EmulatorReply {
    let status = status ?? error.code.status
    var headers = allow.map { [EmulatorHeader("Allow", $0)] } ?? []
    // The documented place is the body, but some clients read the header, so both are sent. [E] (Question 25)
    if configuration.assumptions.sendsRetryAfterHeader,
      let seconds = error.retryAfter.flatMap({ Int(exactly: $0.rounded(.up)) })
    {
      headers.append(EmulatorHeader("Retry-After", String(seconds)))
    }
    let uuid = requestUUID
    let body = JSON.object(.joining(["uuid": .string(uuid)], error.members())).data
    let result = "\(status) \(error.code.rawValue)" + (error.detail.map { " (\($0))" } ?? "")
    return respond(exchange, .json, body, status: status, headers: headers, result: result, uuid: uuid)
  }

  /// Returns a response. The bytes of an asset are loaded while they are sent.
  mutating func respond(
    _ exchange: Exchange,
    _ type: ContentType,
    _ body: Data = Data(),
    status: Int = 200,
    asset: StoredAsset? = nil,
    headers: [EmulatorHeader] = [],
    result: String? = nil,
    uuid: String? = nil
  ) -> EmulatorReply {
    let headers = standardHeaders(exchange, type, uuid ?? requestUUID) + headers
    let response = EmulatorResponse(status: status, headers: headers, body: body, asset: asset)
    return finish(exchange, .respond(response), result ?? "\(status)")
  }

  /// Holds a poll. It is counted when it is answered.
  func hold(_ hold: EmulatorHold) -> EmulatorReply {
    EmulatorReply(outcome: .hold(hold), delay: .zero, summary: summary(hold.exchange, "held"))
  }

  mutating func preflight(_ exchange: Exchange) -> EmulatorReply {
    let methods = "GET, POST, PUT, DELETE"
    var headers = [EmulatorHeader("Allow", methods), EmulatorHeader("Access-Control-Allow-Methods", methods)]
    if let names = exchange.request.header("access-control-request-headers") {
      headers.append(EmulatorHeader("Access-Control-Allow-Headers", names))
    }
    return respond(exchange, .plainText, headers: headers)
  }

  private mutating func finish(_ exchange: Exchange, _ outcome: EmulatorReply.Outcome, _ result: String)
    -> EmulatorReply
  {
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

  private var requestUUID: String {
    Derived.uuid("\(configuration.seed ?? 0)/request/\(statistics.requests)", isLowercase: true)
  }

  private func standardHeaders(_ exchange: Exchange, _ type: ContentType, _ uuid: String) -> [EmulatorHeader] {
    var headers = [
      EmulatorHeader("Content-Type", type.rawValue),
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
