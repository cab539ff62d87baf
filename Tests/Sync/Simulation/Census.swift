import Synchronization

/// How often the rare states were reached: a simulation that never meets them proves nothing about them.
final class Census: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  func count(_ state: String) { counts.withLock { $0[state, default: 0] += 1 } }

  subscript(state: String) -> Int { counts.withLock { $0[state] ?? 0 } }

  var text: String {
    counts.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.value)\t\($0.key)" }.joined(separator: "\n") }
  }
}
