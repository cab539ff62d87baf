import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// One of the process's two outputs, written through at once.
///
/// Not `FileHandle`: it traps where the reader of a pipe has gone, as in `cktop records list | head`.
struct OutputStream: Sendable {
  static let standard = OutputStream(descriptor: STDOUT_FILENO)
  static let error = OutputStream(descriptor: STDERR_FILENO)

  let descriptor: Int32

  /// Whether a person reads it.
  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// The columns of the terminal; nil where it is none.
  var width: Int? {
    guard isTerminal else { return nil }
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes a line.
  func line(_ text: String) { write(text + "\n") }

  /// Writes lines in one go.
  func lines(_ lines: [String]) {
    guard !lines.isEmpty else { return }
    write(lines.joined(separator: "\n") + "\n")
  }

  /// Writes text as it stands. Where the reader has gone there is nobody left to tell, so the process ends quietly.
  func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { posixWrite(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno == EAGAIN {
        var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&poller, 1, -1)
      } else if errno != EINTR {
        giveUp(errno)
      }
    }
  }

  /// Ends the process: quietly where the reader has gone, with a line where an output is cut off that somebody relies on.
  private func giveUp(_ code: Int32) -> Never {
    guard descriptor == STDOUT_FILENO else { exit(1) }
    guard code != EPIPE else { exit(128 + SIGPIPE) }
    let reason = String(cString: strerror(code))
    let message = "the output cannot be written and is cut off (\(reason)); make room, or send it elsewhere"
    CommandFailure(message, .itemsFailed).report()
    exit(CommandStatus.itemsFailed.rawValue)
  }
}

/// `write` of the C library, out of the shadow of the method of that name.
private func posixWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}

/// Asks a yes-or-no question where a person can answer it.
enum Question {
  /// Whether there is a person: both ends of the dialogue are a terminal.
  static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 && OutputStream.error.isTerminal }

  /// Makes sure that there is an answer to the question before a deed that destroys something: `--yes`, or a person.
  static func needAnswer(_ yes: Bool, _ deed: String, orLook look: String = "") throws(CommandFailure) {
    guard yes || canBeAsked else { throw .usage("\(deed); give --yes to do it\(look)") }
  }

  /// Asks; anything but a yes is a no.
  static func ask(_ text: String) -> Bool {
    OutputStream.error.write(text + " [y/N] ")
    let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
    return answer == "y" || answer == "yes"
  }
}
