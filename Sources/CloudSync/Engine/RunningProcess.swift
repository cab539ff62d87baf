import Foundation

/// A process of this machine, as the kernel shows it.
package struct RunningProcess: Hashable, Sendable {
  /// Whether a signal has stopped it. A traced process, which stops at every system call, does not count.
  package let isStopped: Bool

  /// Nil if there is no such process, or if it has ended.
  package init?(_ pid: Int64) {
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      // The state follows the name, which is in parentheses and may have some itself.
      let state = stat.split(separator: ")").last?.first(where: { $0 != " " }), state != "Z"
    else { return nil }
    isStopped = state == "T"
  }
}

extension LeaseHolder {
  /// Whether this machine shows that the process is stopped, so that it does nothing although it holds the lock.
  var isStopped: Bool {
    RunningProcess(pid)?.isStopped == true && host == ProcessInfo.processInfo.hostName
  }
}
