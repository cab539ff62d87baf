import CloudKit
import Foundation
import JSONText
import Synchronization

/// A transport that answers from a list and remembers what it was asked.
final class ScriptedServer: CKTransport {
  enum Answer: Sendable {
    case json(String, status: Int = 200)
    case failure(CKTransportError.Delivery)
  }

  private struct State {
    var answers: [Answer]
    var repeats = false
    var requests: [CKTransportRequest] = []
  }

  private let state: Mutex<State>

  convenience init(_ answers: Answer...) { self.init(answers) }

  init(_ answers: [Answer]) { state = Mutex(State(answers: answers)) }

  /// A server that always gives the same answer.
  init(repeating answer: Answer) { state = Mutex(State(answers: [answer], repeats: true)) }

  /// The operations asked for, without what all paths begin with.
  var operations: [String] {
    state.withLock { $0.requests.map { $0.path.split(separator: "/").dropFirst(3).joined(separator: "/") } }
  }

  /// The paths asked for, with their queries.
  var urls: [String] { state.withLock { $0.requests.map { "\($0.path)?\($0.query)" } } }
  /// The queries of the requests.
  var queries: [String] { state.withLock { $0.requests.map(\.query) } }

  /// The bodies of the requests, byte for byte.
  var texts: [String] { state.withLock { $0.requests.map { String(decoding: $0.body, as: UTF8.self) } } }

  /// The bodies of the requests.
  func bodies() throws -> [JSON] {
    try state.withLock { $0.requests }.map { try JSON(json: $0.body) }
  }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    let answer = state.withLock { state in
      state.requests.append(request)
      if state.repeats { return state.answers.first }
      return state.answers.isEmpty ? nil : state.answers.removeFirst()
    }
    switch answer {
    case .json(let text, let status): return CKTransportResponse(status: status, body: Data(text.utf8))
    case .failure(let delivery): throw CKTransportError(delivery, "scripted")
    case nil: throw CKTransportError(.notSent, "the script is over")
    }
  }

  /// The script goes on wherever an answer sends the client.
  func transport(to origin: URL, timeout: Duration) -> any CKTransport { self }

  func container() -> CKContainer {
    CKContainer(identifier: "iCloud.test", credential: .apiToken("token"), transport: self)
  }

  /// A container whose program works as a user who signed in.
  func userContainer() -> CKContainer {
    CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "user"),
      transport: self
    )
  }
}

extension JSON {
  /// A member of an object.
  subscript(key: String) -> JSON? {
    object?.members.last { $0.key == key }?.value
  }

  /// The elements of an array.
  var elements: [JSON] {
    array ?? []
  }
}
