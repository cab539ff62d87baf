import CloudKit
import Foundation
import JSONText

/// Requests and credentials.
extension ContractCheck {
  static let requestAssumptions: [ContractCheck] = [
    .assumption(
      "emptyBodySignature",
      2,
      .key,
      "A signature of a request without a body covers an empty text or the hash of zero bytes."
    ) { scratch in
      let hash = try await scratch.signedStatus("GET", "zones/list", signing: Data())
      let text = try await scratch.signedStatus("GET", "zones/list", signing: nil)
      return .of(hash == 200 && text == 200, came: "HTTP \(hash) for the hash, HTTP \(text) for an empty text")
    },
    .assumption("listsTakePost", 3, .user, "Operations that are documented for GET accept POST.") { scratch in
      try await scratch.succeeds(scratch.post("zones/list"))
    },
    .assumption("futureSkew", 20, .key, "A signature's date may be up to ten minutes ahead of the server's clock.") {
      try await $0.signatures(minutes: 1)
    },
    .assumption("missingCredentials", 21, .server, "A request without credentials has HTTP 400.") { scratch in
      let reply = try await scratch.post("changes/database", as: scratch.client.with(nil))
      return .of(reply.status == 400, came: reply.description)
    },
    .untestable(
      "requestsPerSecond",
      22,
      "A caller may send any number of requests per second.",
      because: "a run sends too few requests to reach a limit"
    ),
    .untestable(
      "sendsRetryAfterHeader",
      25,
      "A response that asks to wait has the header Retry-After.",
      because: "the server cannot be made to ask for a wait"
    ),
    .assumption("signatureLifetime", 26, .key, "A signature is valid for ten minutes.") {
      try await $0.signatures(minutes: -1)
    },
  ]

  static let requestRules: [ContractCheck] = [
    .rule("1.2", .observed, .server, "An unknown operation has HTTP 404.") { scratch in
      let reply = try await scratch.post("records/cktop", in: .public)
      return .of(reply.status == 404, came: reply.description)
    },
    .rule("1.2", .observed, .user, "An operation of another database has HTTP 400 and BAD_REQUEST.") { scratch in
      try await scratch.post("changes/database", in: .public).judged("HTTP 400 BAD_REQUEST")
    },
    .rule("1.2", .observed, .user, "A response has the header X-Apple-Request-UUID.") { scratch in
      try await scratch.sends("X-Apple-Request-UUID")
    },
    .rule("1.4", .observed, .user, "A response to a user has a new web auth token.") { scratch in
      try await scratch.sends("X-Apple-CloudKit-Web-Auth-Token")
    },
    .rule(
      "1.6",
      .documented,
      .user,
      "A request that needs a user has HTTP 421, AUTHENTICATION_REQUIRED and the URL of a sign-in page."
    ) { scratch in
      guard case .webAuth(let apiToken, _) = scratch.client.credential else { return .notTried("no user") }
      let anonymous = scratch.client.with(.apiToken(apiToken))
      let reply = try await scratch.post("changes/database", as: anonymous)
      let object = try JSON(json: scratch.meter.last?.body ?? Data()).object
      guard object?["redirectURL"] == nil else { return reply.judged("HTTP 421 AUTHENTICATION_REQUIRED") }
      return .otherwise("\(reply.description), without the URL")
    },
    .rule("7.7", .observed, .records, "A key that the server does not know is ignored.") { scratch in
      try await scratch.lookup("kept", more: #","cktopUnknownKey":true"#).judged("ok")
    },
  ]
}

extension ContractScratch {
  /// Judges a request that has to succeed.
  func succeeds(_ reply: ContractReply) -> ContractOutcome {
    .of(reply.status == 200 && reply.items.allSatisfy { $0.code == nil }, came: reply.description)
  }

  fileprivate func sends(_ header: String) async throws -> ContractOutcome {
    _ = try await post("zones/lookup", #"{"zones":[{"zoneName":"\#(zoneName)"}]}"#)
    return .of(meter.last?.header(header).map { !$0.isEmpty } ?? false, came: "no such header")
  }

  /// Sends a signed request to the public database and returns its HTTP status.
  ///
  /// - Parameters:
  ///   - body: the bytes whose hash is signed; nil signs an empty text in place of the hash.
  ///   - ahead: the seconds to add to the date.
  fileprivate func signedStatus(
    _ method: String,
    _ operation: String,
    sending bytes: Data = Data(),
    signing body: Data?,
    ahead: TimeInterval = 0
  ) async throws -> Int {
    guard let key else { throw ContractSkip(reason: "needs a server-to-server key") }
    let path = "/database/1/\(client.containerPath)/public/\(operation)"
    var request = CKTransportRequest(method: method, path: path, body: bytes)
    let date = client.configuration.now().addingTimeInterval(ahead)
    request.headers = [CKHTTPHeader("Content-Type", "application/json")]
    request.headers += try key.signatureHeaders(body: body, path: path, date: date)
    return try await client.transport.send(request).status
  }

  /// Tries dates nine and eleven minutes away.
  ///
  /// - Parameter minutes: 1 for dates ahead of the clock, -1 for dates behind it.
  fileprivate func signatures(minutes: Int) async throws -> ContractOutcome {
    let body = Data(#"{"zones":[{"zoneName":"_defaultZone"}]}"#.utf8)
    var statuses: [Int] = []
    for distance in [9, 11] {
      let seconds = Double(60 * distance * minutes)
      statuses.append(
        try await signedStatus("POST", "zones/lookup", sending: body, signing: body, ahead: seconds)
      )
    }
    return .of(
      statuses[0] != 401 && statuses[1] == 401,
      came: "HTTP \(statuses[0]) at nine minutes, HTTP \(statuses[1]) at eleven"
    )
  }
}
