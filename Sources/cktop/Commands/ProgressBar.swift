import CloudSync
import Facts

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
        if let status = try? store.status() { Self.draw(status) }
        try? await Task.sleep(for: .milliseconds(200))
      }
      OutputStream.error.write("\r\u{1B}[K")
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
    guard let progress = status.progress else {
      let verdict = status.verdict(hasCredential: true)
      return "\(verdict.label): \(verdict.sentence(Format(), now: status.generatedAt))".visible.cut(
        toColumns: width - 1
      )
    }
    guard progress.phase != .fetch, progress.total > 0 else {
      return "fetched \(progress.done)".cut(toColumns: width - 1)
    }
    let rate = progress.perSecond.map { ", \(Int($0))/s" } ?? ""
    let rest = progress.etaSeconds.map { ", \(Int($0.rounded(.up))) s left" } ?? ""
    let verb = progress.phase == .upload ? "uploaded" : "sent"
    let text = "\(verb) \(progress.amount) of \(progress.whole)\(rate)\(rest)"
    let room = width - text.count - 5
    guard room >= 10 else { return text.cut(toColumns: width - 1) }
    let length = min(room, 40)
    let filled = length * progress.done / progress.total
    return "[" + String(repeating: "#", count: filled) + String(repeating: "-", count: length - filled) + "] " + text
  }
}
