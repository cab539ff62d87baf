public import CloudKitWebServices
public import Foundation
internal import Synchronization

/// Answers requests from a recording, without a server or network.
///
/// A request gets the response of the first unused exchange with the same method, path and body. Repeated requests
/// therefore get their responses in the recorded order, and different requests may come in any order. A request without
/// an unused exchange fails as not sent, with its method and path in the message.
///
/// Requests must be the same every time for this to work, so set record names explicitly.
public final class CKReplayingTransport: CKTransport {
  private struct Question: Hashable {
    var method: String
    var path: String
    var body: Data
  }

  private let answers: Mutex<[Question: [CKExchange.Outcome]]>

  /// Creates a transport that replays exchanges.
  public init(_ exchanges: [CKExchange]) {
    var answers: [Question: [CKExchange.Outcome]] = [:]
    // Each list is reversed, so that responses are taken from its end.
    for exchange in exchanges.reversed() {
      let question = Question(method: exchange.method, path: exchange.path, body: CKExchange.redacted(exchange.body))
      answers[question, default: []].append(exchange.outcome)
    }
    self.answers = Mutex(answers)
  }

  /// Creates a transport that replays a recording.
  ///
  /// - Throws: `CocoaError` if the file cannot be read; `DecodingError` if a line is not an exchange.
  public convenience init(contentsOf file: URL) throws {
    let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
    self.init(try lines.map { try JSONDecoder().decode(CKExchange.self, from: $0) })
  }

  /// The number of recorded exchanges that have not been used.
  public var remaining: Int { answers.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// Returns the recorded response to a request.
  public func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "The request was cancelled.") }
    let question = Question(method: request.method, path: request.path, body: CKExchange.redacted(request.body))
    switch answers.withLock({ $0[question]?.popLast() }) {
    case .response(let response): return response
    case .failure(let error): throw error
    case nil:
      throw CKTransportError(.notSent, "The recording has no unused response to \(request.method) \(request.path).")
    }
  }
}
