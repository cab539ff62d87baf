import CloudService
package import CloudSync
package import Facts
package import TerminalUI

extension StoreStatus {
  /// Facts about the last syncs and the next.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func syncFacts(_ format: Format, now: Int64) -> [Fact] {
    func time(_ milliseconds: Int64) -> String { format.time(milliseconds, now: now) }
    var facts = [
      Fact("Last full sync", lastSuccessAt.map { "\(time($0)) (\(Format.ago($0, now: now)))" } ?? "never"),
      Fact("Last local change", lastEnqueueAt.map(time) ?? "none yet"),
      Fact("Syncing process", syncingProcess?.text(time) ?? "none yet"), Fact("Last 24 hours", lastDay.words),
      Fact("Conflict policy", settings.policy?.rawValue ?? "not set yet"),
    ]
    // Without a process to do it nothing comes next.
    if isSyncing, let next = nextActionAt {
      facts.append(Fact("Next", "try again at \(time(next))"))
    }
    if let error = lastError, !isInSync {
      facts.append(Fact("Last error", "\(Words.joined(error.message, error.code)) at \(time(error.at))"))
    }
    if let problem = deliveryProblem { facts.append(Fact("The app", problem.message, .error)) }
    return facts
  }

  /// The waits for the server and the network, the first end first.
  ///
  /// - Parameter now: milliseconds since 1970.
  package func waitFacts(_ format: Format, now: Int64) -> [Fact] {
    let waits = throttles.sorted { $0.until < $1.until }.map { wait in
      let (since, until) = (format.time(wait.since, now: now), format.time(wait.until, now: now))
      let what = "\(wait.scope.asCause.text) since \(since), until \(until)"
      return Fact(wait.isOwn ? "Retrying" : "Throttled", "\(what): \(Words.joined(wait.message, wait.code))", .warning)
    }
    return waits
      + [changeThrottledUntil].compactMap(\.self).map {
        Fact("Throttled", "single changes until \(format.time($0, now: now))", .warning)
      }
  }
}

extension CloudSync.Progress {
  /// The phase, the amount done, the rate and the time left: "Sending  12 of 40  3/s  9 s left".
  package var line: StyledText {
    let name = phase == .fetch ? "Fetching" : phase == .upload ? "Uploading" : "Sending"
    func text(_ count: Int) -> String { phase == .upload ? Format.bytes(count) : Format.number(count) }
    // The server does not say how many changes there are to fetch.
    let amount =
      phase == .fetch
      ? "\(text(done)) so far" : total > 0 ? "\(text(done)) of \(text(total))" : done > 0 ? text(done) : ""
    let rate = perSecond.map { "  \(Format.number(Int(clamping: $0)))/s" } ?? ""
    let left = etaSeconds.map { "  \(Format.duration($0)) left" } ?? ""
    return [.init(name, .active), .init("  \(amount)\(rate)\(left)")]
  }
}
