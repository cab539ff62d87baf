import Synchronization

/// The memory for the bodies of open requests, shared by all connections of a server.
final class BodyMemory: Sendable {
  private let limit: Int
  private let used = Mutex(0)

  init(limit: Int) { self.limit = limit }

  /// One request's part, which ends with the last reference to it.
  final class Share: Sendable {
    private let memory: BodyMemory
    private let size = Mutex(0)

    init(of memory: BodyMemory) { self.memory = memory }

    deinit { memory.used.withLock { $0 -= size.withLock { $0 } } }

    /// Takes more of the memory; false if other requests leave too little.
    func grow(by count: Int) -> Bool {
      let isFree = memory.used.withLock { used in
        guard used + count <= memory.limit else { return false }
        used += count
        return true
      }
      if isFree { size.withLock { $0 += count } }
      return isFree
    }

    /// Gives back what is no longer held.
    func shrink(by count: Int) {
      size.withLock { $0 -= count }
      memory.used.withLock { $0 -= count }
    }
  }
}
