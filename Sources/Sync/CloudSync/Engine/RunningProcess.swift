import Foundation

/// A process of this machine, as the kernel shows it.
package struct RunningProcess: Hashable, Sendable {
  /// Whether a signal has stopped it. A traced process, which stops at every system call, does not count.
  package let isStopped: Bool
  private let pid: Int64

  /// Nil if there is no such process, or if it has ended.
  package init?(_ pid: Int64) {
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      // The state follows the name, which is in parentheses and may have some itself.
      let state = stat.split(separator: ")").last?.first(where: { $0 != " " }), state != "Z"
    else { return nil }
    isStopped = state == "T"
    self.pid = pid
  }

  /// The systemd unit that it is part of; nil if a person started it.
  package var unit: String? {
    (try? String(contentsOfFile: "/proc/\(pid)/cgroup", encoding: .utf8)).flatMap(Self.unit)
  }

  /// The service of a control group, as `/proc/PID/cgroup` has it; nil if the process is part of none.
  package static func unit(inGroups text: String) -> String? {
    let groups = text.split(separator: "\n").compactMap { line -> Substring? in
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      // Version 2 has one line; version 1 has one for systemd.
      return parts.count == 3 && (parts[0] == "0" || parts[1] == "name=systemd") ? parts[2] : nil
    }
    return groups.lazy.compactMap { group -> String? in
      let unit = group.split(separator: "/").last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }
      // A shell is in the scope of its session, and a user's manager is no service of ours.
      return unit.flatMap { $0.hasSuffix(".scope") || $0.hasPrefix("user@") ? nil : String($0) }
    }.first
  }
}

extension LeaseHolder {
  /// The process, if it is one of this machine that has not ended.
  var process: RunningProcess? {
    RunningProcess(pid).flatMap { host == ProcessInfo.processInfo.hostName ? $0 : nil }
  }
}
