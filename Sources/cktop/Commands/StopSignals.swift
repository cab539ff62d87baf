@preconcurrency import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Turns the signals by which people and service managers end a program into a call, so that it ends in good order.
final class StopSignals: Sendable {
  private let sources: [any DispatchSourceSignal]

  /// Calls `stop` at SIGINT, SIGTERM and SIGHUP until ended.
  init(_ stop: @escaping @Sendable () -> Void) {
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      // The default action would end the process before the source could tell.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler(handler: stop)
      source.activate()
      return source
    }
  }

  /// Listens no more; a second signal then ends the process as usual.
  func end() {
    for source in sources { source.cancel() }
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
  }
}
