import CloudSync
import Foundation

/// The facts about a process that the kernel shows.
package struct ProcessFacts: Hashable, Sendable {
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
    unit = process.unit
    openFiles = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/fd"))?.count
    fileLimit = (try? String(contentsOfFile: "\(folder)/limits", encoding: .utf8)).flatMap(Self.fileLimit)
  }

  init(isStopped: Bool = false, unit: String? = nil, openFiles: Int? = nil, fileLimit: Int? = nil) {
    (self.isStopped, self.unit, self.openFiles, self.fileLimit) = (isStopped, unit, openFiles, fileLimit)
  }

  /// The soft limit on open files, as `/proc/PID/limits` has it.
  static func fileLimit(inLimits text: String) -> Int? {
    let name = "Max open files"
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
  }
}
