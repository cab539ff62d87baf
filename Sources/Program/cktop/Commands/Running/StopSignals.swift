@preconcurrency import Dispatch
import Glibc

/// Calls a closure when a signal asks the program to stop, so that it can exit cleanly.
///
/// Signals that were ignored when the program started stay ignored: `nohup` ignores SIGHUP, and a shell without job
/// control ignores SIGINT for a command in the background.
final class StopSignals: Sendable {
  private static let numbers = [SIGINT, SIGTERM, SIGHUP]
  /// The signals that were not ignored at the start. Read once, before the first of them is taken over.
  private static let heeded = heeded(unless: { number in
    var action = sigaction()
    return sigaction(number, nil, &action) == 0 && action.isIgnored
  })

  private let sources: [any DispatchSourceSignal]

  /// Calls `stop` at SIGINT, SIGTERM and SIGHUP until ended.
  init(_ stop: @escaping @Sendable () -> Void) {
    sources = Self.heeded.map { number in
      // The default action would end the process before the source is notified.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        stop()
        OutputFile.endIfStalled(after: number)
      }
      source.activate()
      return source
    }
  }

  /// Returns the signals that stop the program.
  ///
  /// - Parameter isIgnored: Whether a signal was ignored at the start.
  static func heeded(unless isIgnored: (Int32) -> Bool) -> [Int32] { numbers.filter { !isIgnored($0) } }

  /// Stops listening. Another signal then ends the process as usual.
  func end() {
    for source in sources { source.cancel() }
    for number in Self.heeded { signal(number, SIG_DFL) }
  }
}

extension sigaction {
  /// Whether the action is to ignore the signal.
  fileprivate var isIgnored: Bool {
    // Pointers to functions cannot be compared.
    unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
