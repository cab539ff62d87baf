import CloudService
import CloudSync
import Dispatch
import Facts
import Foundation
import Glibc
import Synchronization
import TerminalUI

/// Standard output or standard error, unbuffered.
///
/// Not `FileHandle`: it traps if the reader of a pipe has exited, as in `cktop records list | head`.
struct OutputFile: Sendable {
  static let standard = OutputFile(descriptor: STDOUT_FILENO)
  static let error = OutputFile(descriptor: STDERR_FILENO)

  let descriptor: Int32

  /// Whether the output is a terminal.
  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Whether something may be drawn: the output is a terminal, and this process is not in its background.
  var isDrawable: Bool {
    let group = isTerminal ? tcgetpgrp(descriptor) : 0
    // A terminal that is not the controlling one has no background.
    return isTerminal && (group < 0 || group == getpgrp())
  }

  /// The columns of the terminal; nil if the output is not one.
  var width: Int? { size?.width }

  /// The size of the terminal; nil if the output is not one.
  var size: Size? {
    guard isTerminal else { return nil }
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return Size(width: 80, height: 24) }
    return Size(width: Int(size.ws_col), height: Int(size.ws_row))
  }

  /// Masks secrets in every line on standard error: messages there quote servers. Set once the settings are known.
  static let redaction = Mutex<@Sendable () -> Redaction>({ Redaction() })

  private func masked(_ text: String) -> String {
    descriptor == STDERR_FILENO ? Self.redaction.withLock { $0 }().redact(text) : text
  }

  /// Writes a line.
  func line(_ text: String) { write(masked(text) + "\n") }

  /// Writes lines with one call.
  func lines(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    write(masked(lines.joined(separator: "\n")) + "\n")
  }

  /// Writes text unchanged. If the reader has exited, the process ends quietly.
  func write(_ text: String) {
    do { try writeAll(text) } catch { giveUp(error.code) }
  }

  /// A system call that failed, by its `errno`.
  struct Failure: Error {
    var code: Int32
  }

  /// The number of writes under way, and of those that ended.
  private static let writes = Mutex((open: 0, ended: 0))

  /// Ends the process as soon as a write waits for long, because a signal asked it to end and nothing reads its output.
  static func endIfStalled(after signal: Int32) {
    let before = writes.withLock { $0 }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(700)) {
      let now = writes.withLock { $0 }
      if now.open > 0, now.ended == before.ended { _exit(128 + signal) }
      endIfStalled(after: signal)
    }
  }

  /// Writes text unchanged, to a file whose disk may be full.
  func writeAll(_ text: String) throws(Failure) {
    Self.writes.withLock { $0.open += 1 }
    defer { Self.writes.withLock { $0 = ($0.open - 1, $0.ended + 1) } }
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { posixWrite(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno == EAGAIN {
        var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&poller, 1, -1)
      } else if errno != EINTR {
        throw Failure(code: errno)
      }
    }
  }

  /// Ends the process: quietly if the reader has exited, with a message if the output is incomplete for another reason.
  private func giveUp(_ code: Int32) -> Never {
    guard descriptor == STDOUT_FILENO else { exit(1) }
    guard code != EPIPE else { exit(128 + SIGPIPE) }
    let reason = String(cString: strerror(code))
    let message = "the output cannot be written and is incomplete (\(reason)); free some space, or write it elsewhere"
    CommandFailure(message, .itemsFailed).report()
    exit(CommandStatus.itemsFailed.rawValue)
  }
}

/// `write` of the C library, which the method of that name would shadow.
private func posixWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
