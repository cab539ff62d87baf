import Facts
import Synchronization

/// The progress of a command that changes many operations in several transactions: shown on standard error where that
/// is a terminal. SIGINT, SIGTERM and SIGHUP stop the command between two of them.
final class StoppableCommand: Sendable {
  private let signals = Mutex<StopSignals?>(nil)
  private let isStopped = Atomic(false)

  private init() {}

  /// Runs a command that calls `continues` between its transactions, with the number of operations done and of all.
  static func during<Value>(_ command: (_ continues: (Int, Int) -> Bool) throws -> Value) rethrows -> Value {
    let progress = StoppableCommand()
    defer { progress.end() }
    return try command(progress.continues)
  }

  private func continues(_ done: Int, _ total: Int) -> Bool {
    // Not before the first transaction is over: a command of one is too short to be stopped.
    signals.withLock { signals in
      if signals == nil { signals = StopSignals { [weak self] in self?.isStopped.store(true, ordering: .relaxed) } }
    }
    if OutputFile.error.isDrawable, let width = OutputFile.error.width {
      let text = "\(Format.number(done)) of \(Words.count(total, "operation"))"
      OutputFile.error.write("\r" + ProgressBar.line(text, done: done, of: total, width: width) + "\u{1B}[K")
    }
    return !isStopped.load(ordering: .relaxed)
  }

  private func end() {
    guard let signals = signals.withLock({ $0 }) else { return }
    signals.end()
    if OutputFile.error.isDrawable { OutputFile.error.write("\r\u{1B}[K") }
  }
}
