public import Foundation
internal import Synchronization

/// Answers requests from a recording, with no server and no network.
///
/// A request is answered by the first exchange that has its method, path and body and was not used yet, so repeated
/// requests get their answers in the order recorded while different ones may come in any order. A request that is not in
/// the recording, or once more than in it, fails as not sent, saying which.
///
/// What a request says has to be the same each time for this to work: give records names of your own.
public final class CKReplayingTransport: CKTransport {
  private struct Question: Hashable {
    var method: String
    var path: String
    var body: Data
  }

  private let answers: Mutex<[Question: [CKExchange.Outcome]]>

  /// Plays exchanges again.
  public init(_ exchanges: [CKExchange]) {
    var answers: [Question: [CKExchange.Outcome]] = [:]
    // The last comes first, so that answers are taken off the end.
    for exchange in exchanges.reversed() {
      let question = Question(method: exchange.method, path: exchange.path, body: exchange.body)
      answers[question, default: []].append(exchange.outcome)
    }
    self.answers = Mutex(answers)
  }

  /// Plays a recording again.
  ///
  /// - Throws: `CocoaError` where the file cannot be read, `DecodingError` where a line is no exchange.
  public convenience init(contentsOf file: URL) throws {
    let lines = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n"))
    self.init(try lines.map { try JSONDecoder().decode(CKExchange.self, from: $0) })
  }

  /// How many recorded exchanges have not been asked for.
  public var remaining: Int { answers.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// The recorded answer to a request.
  public func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "The request was cancelled.") }
    let question = Question(method: request.method, path: request.path, body: request.body)
    switch answers.withLock({ $0[question]?.popLast() }) {
    case .response(let response): return response
    case .failure(let error): throw error
    case nil:
      throw CKTransportError(.notSent, "The recording has no further answer to \(request.method) \(request.path).")
    }
  }

  /// The recording has the exchanges with all servers.
  public func transport(to origin: URL, timeout: Duration) -> any CKTransport { self }
}
