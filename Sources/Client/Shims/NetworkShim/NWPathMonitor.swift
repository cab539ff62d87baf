public import Dispatch
import Glibc
import Synchronization

/// Monitors the availability of the network.
///
/// It runs only when the kernel reports a change of a link or an address.
public final class NWPathMonitor: Sendable {
  private struct State {
    var handler: (@Sendable (NWPath) -> Void)?
    var queue: DispatchQueue?
    var source: (any DispatchSourceRead)?
    var told: NWPath?
    var isCancelled = false
  }

  private let state = Mutex(State())
  private let reading: @Sendable () -> NWPath
  private let opening: @Sendable () -> Int32?

  /// Creates a monitor. Call `start(queue:)` to start it.
  public convenience init() { self.init(reading: { .current }, opening: LinkSocket.open) }

  /// - Parameters:
  ///   - reading: returns the current path.
  ///   - opening: opens a descriptor that can be read after each change; nil if changes cannot be observed.
  init(reading: @escaping @Sendable () -> NWPath, opening: @escaping @Sendable () -> Int32?) {
    (self.reading, self.opening) = (reading, opening)
  }

  deinit { cancel() }

  /// The current path.
  public var currentPath: NWPath { reading() }

  /// The queue that the monitor was started on.
  public var queue: DispatchQueue? { state.withLock { $0.queue } }

  /// The handler, called with the path after the start and after every change.
  public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
    get { state.withLock { $0.handler } }
    set { state.withLock { $0.handler = newValue } }
  }

  /// Starts monitoring on a queue. A monitor can be started only once, and not after it was cancelled.
  public func start(queue: DispatchQueue) {
    let isNew = state.withLock { state in
      guard state.queue == nil, !state.isCancelled else { return false }
      state.queue = queue
      // If sockets are not permitted, the path is reported once and not monitored further.
      state.source = opening().map { LinkSocket.source($0, on: queue) { [weak self] in self?.tell() } }
      state.source?.activate()
      return true
    }
    if isNew { queue.async { [weak self] in self?.tell() } }
  }

  /// Stops monitoring permanently.
  public func cancel() {
    let source = state.withLock { state in
      defer { state.source = nil }
      state.isCancelled = true
      state.handler = nil
      return state.source
    }
    source?.cancel()
  }

  private func tell() {
    let path = reading()
    let handler = state.withLock { state -> (@Sendable (NWPath) -> Void)? in
      guard !state.isCancelled, state.told != path else { return nil }
      state.told = path
      return state.handler
    }
    handler?(path)
  }
}

/// A socket on which the kernel reports changes of links and addresses (`man 7 rtnetlink`).
private enum LinkSocket {
  /// `RTMGRP_LINK`, `RTMGRP_IPV4_IFADDR` and `RTMGRP_IPV6_IFADDR`, which are missing in the Glibc module.
  private static let groups: UInt32 = 0x1 | 0x10 | 0x100

  @Sendable static func open() -> Int32? {
    let type = Int32(SOCK_RAW.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_NETLINK, type, 0)
    guard descriptor >= 0 else { return nil }
    // struct sockaddr_nl: family, padding, process, groups.
    var address = (sa_family_t(AF_NETLINK), UInt16(0), UInt32(0), groups)
    let isBound = withUnsafePointer(to: &address) { address in
      let size = socklen_t(MemoryLayout.size(ofValue: address.pointee))
      return address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
    }
    guard isBound else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  static func source(
    _ descriptor: Int32,
    on queue: DispatchQueue,
    changed: @escaping @Sendable () -> Void
  ) -> any DispatchSourceRead {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      // The contents of the reports are not needed: the interfaces are read again.
      var buffer = [UInt8](repeating: 0, count: 8192)
      while read(descriptor, &buffer, buffer.count) > 0 {}
      changed()
    }
    source.setCancelHandler { close(descriptor) }
    return source
  }
}
