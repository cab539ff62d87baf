import CloudSync
import Foundation

/// The facts about a process that the kernel shows.
struct ProcessFacts: Hashable, Sendable {
  /// Whether it is stopped, by a signal or a debugger.
  var isStopped: Bool
  /// The systemd unit that it is part of; nil if a person started it.
  var unit: String?
  /// Its open files; nil where this user may not see them.
  var openFiles: Int?
  /// The number of files that it may have open; nil for no limit, or where it is unknown.
  var fileLimit: Int?

  /// Reads a process of this machine; nil if there is none.
  init?(of pid: Int64) {
    guard let process = RunningProcess(pid) else { return nil }
    isStopped = process.isStopped
    let folder = "/proc/\(pid)"
    unit = (try? String(contentsOfFile: "\(folder)/cgroup", encoding: .utf8)).flatMap(Self.unit)
    openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/fd"))?.count
    fileLimit = (try? String(contentsOfFile: "\(folder)/limits", encoding: .utf8)).flatMap(Self.fileLimit)
  }

  init(isStopped: Bool = false, unit: String? = nil, openFiles: Int? = nil, fileLimit: Int? = nil) {
    (self.isStopped, self.unit, self.openFiles, self.fileLimit) = (isStopped, unit, openFiles, fileLimit)
  }

  /// The service of a control group, as `/proc/PID/cgroup` has it; nil if the process is part of none.
  static func unit(inGroups text: String) -> String? {
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

  /// The soft limit on open files, as `/proc/PID/limits` has it.
  static func fileLimit(inLimits text: String) -> Int? {
    let name = "Max open files"
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
  }
}
