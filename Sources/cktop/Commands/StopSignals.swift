@preconcurrency import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Calls a closure when a signal asks the program to stop, so that it can exit cleanly.
final class StopSignals: Sendable {
  private let sources: [any DispatchSourceSignal]

  /// Calls `stop` at SIGINT, SIGTERM and SIGHUP until ended.
  init(_ stop: @escaping @Sendable () -> Void) {
    sources = [SIGINT, SIGTERM, SIGHUP].map { number in
      // The default action would end the process before the source is notified.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler(handler: stop)
      source.activate()
      return source
    }
  }

  /// Stops listening. Another signal then ends the process as usual.
  func end() {
    for source in sources { source.cancel() }
    for number in [SIGINT, SIGTERM, SIGHUP] { signal(number, SIG_DFL) }
  }
}
