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
    guard OutputFile.standard.isTerminal, OutputFile.error.isTerminal else { return nil }
    return ProgressBar(store)
  }

  private init(_ store: SyncStore) {
    task = Task {
      while !Task.isCancelled {
        if OutputFile.error.isDrawable, let status = try? store.status() { Self.draw(status) }
        try? await Task.sleep(for: .milliseconds(200))
      }
      if OutputFile.error.isDrawable { OutputFile.error.write("\r\u{1B}[K") }
    }
  }

  /// Stops and erases the bar.
  func stop() async {
    task.cancel()
    await task.value
  }

  private static func draw(_ status: StoreStatus) {
    OutputFile.error.write("\r" + line(status, width: OutputFile.error.width ?? 80) + "\u{1B}[K")
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
    let filled = Gauge.share(Double(done) / Double(total), of: length)
    return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: length - filled) + "] " + text
  }
}
