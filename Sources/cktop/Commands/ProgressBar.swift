import CloudSync
import Dashboard
import Facts
import Synchronization
import TerminalUI

/// A progress bar on standard error for terminals, drawn from the store, whichever process syncs.
final class ProgressBar: Sendable {
  private let task: Task<Void, Never>

  /// Starts a bar; nil if an output is not a terminal.
  static func start(_ store: SyncStore) -> ProgressBar? {
    guard OutputStream.standard.isTerminal, OutputStream.error.isTerminal else { return nil }
    return ProgressBar(store)
  }

  private init(_ store: SyncStore) {
    task = Task {
      while !Task.isCancelled {
        if OutputStream.error.isDrawable, let status = try? store.status() { Self.draw(status) }
        try? await Task.sleep(for: .milliseconds(200))
      }
      if OutputStream.error.isDrawable { OutputStream.error.write("\r\u{1B}[K") }
    }
  }

  /// Stops and erases the bar.
  func stop() async {
    task.cancel()
    await task.value
  }

  private static func draw(_ status: StoreStatus) {
    OutputStream.error.write("\r" + line(status, width: OutputStream.error.width ?? 80) + "\u{1B}[K")
  }

  /// The bar's line, never wider than the terminal: a line that wraps cannot be overwritten.
  static func line(_ status: StoreStatus, width: Int) -> String {
    if let since = status.silentSince {
      let time = Format().time(since, now: status.generatedAt)
      return "waiting for the server's reply to a request of \(time)".cut(toColumns: width - 1)
    }
    guard let progress = status.progress else {
      let verdicts = status.verdicts(hasCredential: true)
      return "\(verdicts.first.label): \(verdicts.sentence(Format(), now: status.generatedAt))".visible.cut(
        toColumns: width - 1
      )
    }
    let text = progress.line.plain
    guard progress.phase != .fetch, progress.total > 0 else { return text.cut(toColumns: width - 1) }
    return line(text, done: progress.done, of: progress.total, width: width)
  }

  /// A bar with a text behind it; only the text where there is no room for both.
  static func line(_ text: String, done: Int, of total: Int, width: Int) -> String {
    let room = width - text.count - 5
    guard room >= 10 else { return text.cut(toColumns: width - 1) }
    let length = min(room, 40)
    let filled = length * done / total
    return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: length - filled) + "] " + text
  }
}

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
    if OutputStream.error.isDrawable, let width = OutputStream.error.width {
      let text = "\(Format.number(done)) of \(Words.count(total, "operation"))"
      OutputStream.error.write("\r" + ProgressBar.line(text, done: done, of: total, width: width) + "\u{1B}[K")
    }
    return !isStopped.load(ordering: .relaxed)
  }

  private func end() {
    guard let signals = signals.withLock({ $0 }) else { return }
    signals.end()
    if OutputStream.error.isDrawable { OutputStream.error.write("\r\u{1B}[K") }
  }
}
