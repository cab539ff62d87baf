import Facts
import Foundation
import Glibc
import NIOCore

/// The number of files that this process may have open.
enum DescriptorLimit {
  /// The minimum for any command. With fewer, opening a file may fail at any time, and the runtime and the libraries
  /// trap.
  static let least: rlim_t = 64

  /// Raises the soft limit to the hard one.
  static func raise() {
    guard var limit = current, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Limits the number of event loops for the network. Each opens three files, and NIO makes one for each processor, so
  /// a machine with many processors would need more files than its limit. Called once, before the network is used.
  static func limitEventLoops() { NIOSingletons.groupLoopCountSuggestion = min(System.coreCount, 4) }

  /// The failure for a limit that is too low; nil if it is enough.
  static var refusal: CommandFailure? { current.flatMap { refusal(of: $0.rlim_cur) } }

  /// The failure for a limit that is too low; nil if it is enough.
  static func refusal(of count: rlim_t) -> CommandFailure? {
    guard count < least else { return nil }
    return CommandFailure(
      "this process may open only \(count) files and needs at least \(least); "
        + "raise the limit with ulimit -n \(least * 16)",
      .storeUnusable
    )
  }

  private static var current: rlimit? {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 ? limit : nil
  }
}
