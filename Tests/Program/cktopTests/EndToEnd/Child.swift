import Foundation
import Glibc
import Synchronization

/// A process that a test starts; its standard input is empty.
///
/// Foundation's `Process` copies entries of `/proc/self/fd` past the end of their buffer, and so may crash a process that
/// has more than 1,354 files open, as a run of all tests at once has.
final class Child: Sendable {
  /// How a process ended.
  enum End: Hashable, Sendable {
    case exited(Int32)
    case signalled(Int32)
  }

  /// Why no process could be started.
  struct NotStarted: Error {
    var program: String
    var reason: String
  }

  private struct State {
    var end: End?
    var lifetime: Duration?
    var waiters: [CheckedContinuation<End, Never>] = []
  }

  let pid: pid_t
  private let start = ContinuousClock.now
  private let state = Mutex(State())

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: its path, or its name where `PATH` is to be searched.
  ///   - folder: where it runs; else where the tests run.
  ///   - output: the file that gets standard output, emptied first.
  ///   - error: the file that gets standard error, emptied first.
  init(
    _ program: String,
    _ arguments: [String],
    environment: [String: String],
    in folder: String? = nil,
    output: String = "/dev/null",
    error: String = "/dev/null"
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    // Programs leave signals ignored that are so at their start, as in tests that nohup runs.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    // Changing the folder of a child to be is for GNU sources only; `env` does it and becomes the program.
    let words = CStrings((folder.map { ["env", "-C", $0] } ?? []) + [program] + arguments)
    let settings = CStrings(environment.map { "\($0)=\($1)" })
    var pid: pid_t = 0
    let failure = posix_spawnp(
      &pid,
      folder == nil ? program : "env",
      &actions,
      &attributes,
      words.pointers,
      settings.pointers
    )
    guard failure == 0 else { throw NotStarted(program: program, reason: String(cString: strerror(failure))) }
    self.pid = pid
    // A thread of its own, since waiting for a process blocks.
    Thread.detachNewThread { [self, pid] in
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
      let signal = status & 0x7F
      ended(signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal))
    }
  }

  private func ended(_ end: End) {
    let waiters = state.withLock { state in
      state.end = end
      state.lifetime = start.duration(to: .now)
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: end) }
  }

  var isRunning: Bool { state.withLock { $0.end == nil } }

  /// How long it ran; nil while it runs. A test that measures this itself may get its turn much later.
  var lifetime: Duration? { state.withLock { $0.lifetime } }

  /// Waits for its end.
  @discardableResult
  func end() async -> End {
    await withCheckedContinuation { continuation in
      let known = state.withLock { state in
        if state.end == nil { state.waiters.append(continuation) }
        return state.end
      }
      if let known { continuation.resume(returning: known) }
    }
  }

  /// Sends it a signal, unless it has ended.
  func send(_ signal: Int32) {
    state.withLock { state in
      if state.end == nil { kill(pid, signal) }
    }
  }

  /// Stops it, and waits until each of its threads has stopped: until then one could begin a transaction, which would
  /// lock the store for as long as the process is stopped.
  func stop() async {
    send(SIGSTOP)
    while !threadStates.allSatisfy({ $0 == "T" }) { await Task.yield() }
  }

  /// The states of its threads, as the kernel names them.
  private var threadStates: [Character] {
    let folder = "/proc/\(pid)/task"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { thread in
      // The state follows the name, which is in parentheses.
      let text = try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)
      return text?.split(separator: ")").last?.first { $0 != " " }
    }
  }
}

/// Strings as the C library takes lists of them, for as long as this lives.
private final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [String]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() { (pointers + index).initialize(to: strdup(string)) }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
