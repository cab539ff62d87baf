import Logging
import Synchronization
import Testing
import os

@Suite struct OSShimTests {
  /// Keeps what is logged.
  private final class Lines: Sendable {
    let lines = Mutex<[String]>([])
  }

  private struct Handler: LogHandler {
    let label: String
    let lines: Lines
    var metadata = Logging.Logger.Metadata()
    var logLevel = Logging.Logger.Level.trace

    init(_ label: String, _ lines: Lines) { (self.label, self.lines) = (label, lines) }

    subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.lines.withLock { $0.append("\(event.level) \(label): \(event.message)") }
    }
  }

  @Test func `messages reach swift-log without what is private`() {
    let lines = Lines()
    LoggingSystem.bootstrap { Handler($0, lines) }
    let logger = os.Logger(subsystem: "org.example", category: "sync")
    let log = OSLog(subsystem: "org.example", category: "old")

    logger.info("sent \(3) of \("secret") for \("Ana", privacy: .public)")
    logger.error("failed")
    os_log("Saved %d in %@, %{public}@ (100%%)", log: log, type: .fault, 7, "secret", "open")
    os_log(.debug, log: .disabled, "nobody reads this")

    #expect(
      lines.lines.withLock { $0 } == [
        "info org.example.sync: sent 3 of <private> for Ana",
        "error org.example.sync: failed",
        "critical org.example.old: Saved 7 in <private>, open (100%)",
      ]
    )
  }
}
