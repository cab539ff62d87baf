import Facts

/// What is the matter with a zone.
extension ZoneRow {
  /// The number of changes that the server does not have.
  package var unsent: Int { queued.values.reduce(0, +) }

  /// The problems of the zone in words, the worst first; empty if there are none.
  package var troubles: [String] {
    func count(_ state: OperationState, _ text: String) -> String? {
      queued[state].flatMap { $0 > 0 ? "\(Format.number($0)) \(text)" : nil }
    }
    return [
      held?.countText, isDenied ? "access denied" : nil,
      count(.failed, "failed"), count(.conflict, "in conflict"), isPaused ? "paused" : nil,
    ].compactMap(\.self)
  }

  /// Whether the server has the zone, or is to delete it, in words.
  package var existence: String {
    switch state {
    case _ where isDeletePending: "delete pending"
    case "ready": "ok"
    case "deleted": "deleted on the server"
    default: "not created on the server yet"
    }
  }

  /// The place in lists: what needs a look comes first. A zone that a person pauses stays where it is.
  private var rank: Int {
    if held != nil { return 0 }
    if troubles.contains(where: { $0 != "paused" }) { return 1 }
    return unsent > 0 ? 2 : 3
  }

  /// Whether every word is in what lists show of the zone, in any letter case.
  func matches(_ words: [String]) -> Bool {
    guard !words.isEmpty else { return true }
    let shown = ([key.zone, key.owner] + troubles + (unsent > 0 ? ["unsent"] : []) + [existence])
      .joined(separator: "\n")
    return words.map(SearchWord.init).allSatisfy(shown.contains)
  }

  /// Whether the zone stands before another one in lists.
  func precedes(_ other: ZoneRow) -> Bool {
    (rank, key.zone, key.owner) < (other.rank, other.key.zone, other.key.owner)
  }
}
