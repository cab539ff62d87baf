import Logging
import OSLog
import Synchronization
import Testing
import os
import os.lock
import os.signpost

@Suite(.serialized) struct OSShimTests {
  /// Keeps what is logged.
  private struct Handler: LogHandler {
    let lines: Lines
    var metadata = Logging.Logger.Metadata()
    var logLevel = Logging.Logger.Level.trace

    init(_ lines: Lines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logging.Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.text.withLock { $0.append("\(event.level): \(event.message)") } }
  }

  private final class Lines: Sendable {
    let text = Mutex<[String]>([])
  }

  @Test func `messages reach swift-log without what is private`() {
    let lines = Lines()
    let log = OSLog(Logging.Logger(label: "org.example.sync") { _ in Handler(lines) })
    let logger = os.Logger(log)

    logger.info("sent \(3) of \("secret") for \("Ana", privacy: .public)")
    logger.error("failed")
    os_log("Saved %d in %@, %{public}@ (100%%)", log: log, type: .fault, 7, "secret", "open")
    os_log(.debug, log: .disabled, "nobody reads this")
    os_log("Saved \(7) in \("secret")", log: log, type: .error)
    os_log(.info, log: log, "to \("Ana", privacy: .public)")
    os_log("nobody reads \("this")")
    os.Logger(subsystem: "org.example", category: "sync").trace("nor this")

    var quiet = Logging.Logger(label: "org.example.quiet")
    quiet.logLevel = .error
    #expect(log.isEnabled(type: .debug) && !OSLog(quiet).isEnabled(type: .info) && OSLog(quiet).isEnabled(type: .fault))
    #expect(!OSLog.disabled.isEnabled(type: .fault))
    #expect(
      lines.text.withLock { $0 } == [
        "info: sent 3 of <private> for Ana", "error: failed",
        "critical: Saved 7 in <private>, open (100%)", "error: Saved 7 in <private>", "info: to Ana",
      ]
    )
  }

  @Test(arguments: [true, false])
  func `a developer can see private values, but not sensitive ones`(isShown: Bool) {
    let lines = Lines()
    let log = OSLog(Logging.Logger(label: "org.example.sync") { _ in Handler(lines) })

    OSLogPrivacy.$showsPrivate.withValue(isShown) {
      os.Logger(log).info("\("a") \(1, privacy: .private) \("c", privacy: .sensitive) \("d", privacy: .public)")
      os_log("%@ %{private}d %{sensitive}@ %{public}@", log: log, type: .info, "a", 1, "c", "d")
    }

    let line = isShown ? "info: a 1 <private> d" : "info: <private> <private> <private> d"
    #expect(lines.text.withLock { $0 } == [line, line])
    let values = [nil, "", "0", "1"]
    #expect(
      values.map { OSLogPrivacy.showsPrivate($0.map { ["OS_LOG_SHOW_PRIVATE": $0] } ?? [:]) } == [
        false, false, false, true,
      ]
    )
  }

  @Test func `a lock is held by one thread at a time`() async {
    let count = OSAllocatedUnfairLock(initialState: 0)
    let gate = OSAllocatedUnfairLock()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<5_000 {
            count.withLock { $0 += 1 }
            gate.withLock { count.withLockUnchecked { $0 += 1 } }
          }
        }
      }
    }

    #expect(count.withLock { $0 } == 40_000)
    #expect(count.withLock { _ in count.withLockIfAvailable { $0 } } == nil)
    #expect(gate.lockIfAvailable() && !gate.lockIfAvailable())
    gate.precondition(.owner)
    gate.unlock()
    #expect(gate.withLockIfAvailable { 7 } == 7)
  }

  @Test func `a lock of C can be taken once`() {
    var lock = os_unfair_lock()
    os_unfair_lock_lock(&lock)
    let isFree = os_unfair_lock_trylock(&lock)
    os_unfair_lock_unlock(&lock)
    let isFreeAgain = os_unfair_lock_trylock(&lock)
    os_unfair_lock_unlock(&lock)

    #expect(!isFree && isFreeAgain)
  }

  @Test func `signposts compile and do nothing but the work between them`() {
    let log = OSLog(subsystem: "org.example", category: .pointsOfInterest)
    let signposter = OSSignposter(logHandle: log)
    let id = signposter.makeSignpostID()
    let state = signposter.beginInterval("sync", id: id, "records: \(3)")
    os_signpost(.begin, log: log, name: "fetch", signpostID: OSSignpostID(log: log), "%d records", 3)
    let sum = signposter.withIntervalSignpost("add", id: id) { 1 + 2 }
    signposter.emitEvent("added", "sum: \(sum, privacy: .public)")
    os_signpost(.end, log: log, name: "fetch")
    signposter.endInterval("sync", state)

    #expect(sum == 3 && !signposter.isEnabled && !log.signpostsEnabled)
  }
}
