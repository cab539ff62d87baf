import Foundation
import NIOCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The number of files that this process may have open.
enum DescriptorLimit {
  /// The minimum for a store and its connections. With fewer, opening a file may fail at any time.
  static let least: rlim_t = 64

  /// Raises the soft limit to the hard one.
  static func raise() {
    guard var limit = current, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// The number of event loops for the network. Each opens three files; NIO makes one for each processor, and a machine
  /// may have more of these than files.
  static let eventLoops = min(System.coreCount, 4)

  /// The minimum for any command. With fewer the runtime and the libraries trap.
  static let leastToStart = rlim_t(16 + 3 * eventLoops)

  /// Applies `eventLoops`. Called once, before the network is used.
  static func limitEventLoops() { NIOSingletons.groupLoopCountSuggestion = eventLoops }

  /// The failure for a limit so low that no command can run; nil if it is enough.
  static var refusalToStart: CommandFailure? {
    guard let limit = current, limit.rlim_cur < leastToStart else { return nil }
    return refusal(of: limit.rlim_cur, needed: max(least, leastToStart))
  }

  /// Throws if the limit is too low. Called before a store is opened.
  static func require() throws(CommandFailure) {
    guard let limit = current, let refusal = refusal(of: limit.rlim_cur) else { return }
    throw refusal
  }

  /// The failure for a limit that is too low; nil if it is enough.
  static func refusal(of count: rlim_t, needed least: rlim_t = least) -> CommandFailure? {
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
