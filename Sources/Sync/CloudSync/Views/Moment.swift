package import Facts

/// The stored facts about one minute of the last 24 hours.
package struct Moment: Hashable, Sendable {
  /// The beginning of the minute, in milliseconds since 1970.
  package var at: Int64
  /// The verdicts that held in it, and the times in which no process was syncing; empty if nothing is known of it.
  package var spans: [VerdictSpan]
  /// The changes that it brought.
  package var counts: Throughput

  /// - Parameter minute: minutes since 1970.
  package init(_ minute: Int64, _ verdicts: [VerdictSpan], _ throughput: [Throughput]) {
    let (from, until) = (minute * 60_000, (minute + 1) * 60_000)
    at = from
    spans = verdicts.filter { $0.from < until && $0.until > from }
    counts = throughput.first { $0.at == from } ?? Throughput(at: from)
  }

  package var events: EventListing {
    var listing = EventListing()
    listing.time = at..<at + 60_000
    return listing
  }
}

extension VerdictSpan {
  /// The verdict in a word or two.
  package var words: String { state?.words ?? "nothing was syncing" }

  /// The verdict and its time: "◆ offline, 02:31:04 until 02:52:10".
  ///
  /// - Parameter now: the present time; what holds then has no end.
  package func text(_ format: Format, now: Int64) -> String {
    let mark = urgency.map { "\($0.rawValue) " } ?? ""
    let end = until >= now ? "now" : format.time(until, now: now)
    return "\(mark)\(words), \(format.time(from, now: now)) until \(end)"
  }
}

extension Throughput {
  /// The counts in words.
  package var words: String {
    "\(Format.number(sent)) sent  \(Format.number(fetched)) fetched  \(Format.number(failed)) failed"
  }
}
