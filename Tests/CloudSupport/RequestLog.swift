package import CloudKit
import Foundation
import Synchronization

/// Keeps the requests that it passes on, and loses some of them if a test says so.
package final class RequestLog: CKTransport {
  private let base: any CKTransport
  private let bodies = Mutex<[(path: String, body: Data)]>([])
  private let dropped = Mutex(0)
  private let lost = Mutex(0)

  package init(_ base: any CKTransport) { self.base = base }

  /// The number of next writes that do not arrive, which the sender cannot know.
  package var dropWrites: Int {
    get { dropped.withLock { $0 } }
    set { dropped.withLock { $0 = newValue } }
  }

  /// The number of next writes whose replies are lost.
  package var loseReplies: Int {
    get { lost.withLock { $0 } }
    set { lost.withLock { $0 = newValue } }
  }

  package var assetTransport: any CKAssetTransport { base.assetTransport }

  /// The bodies of the requests whose path ends like this, as JSON.
  package func bodies(_ end: String) -> [[String: Any]] {
    bodies.withLock { $0 }.filter { $0.path.hasSuffix(end) }
      .compactMap { (try? JSONSerialization.jsonObject(with: $0.body)) as? [String: Any] }
  }

  package func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    bodies.withLock { $0.append((request.path, request.body)) }
    let isWrite = request.path.hasSuffix("records/modify")
    if isWrite, Self.isNext(dropped) {
      throw CKTransportError(.unknown, "The reply was lost, and the request with it.")
    }
    let response = try await base.send(request)
    if isWrite, Self.isNext(lost) { throw CKTransportError(.unknown, "The reply was lost.") }
    return response
  }

  /// Counts down to zero.
  ///
  /// - Returns: Whether the count was above zero.
  private static func isNext(_ count: borrowing Mutex<Int>) -> Bool {
    count.withLock { count in
      guard count > 0 else { return false }
      count -= 1
      return true
    }
  }
}
