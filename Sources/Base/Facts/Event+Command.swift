extension Event {
  /// A command of an operator, or of the app in their place: what it did, without how much.
  package enum Command: Hashable, Sendable, Codable {
    case retry(Subject), discard(Subject), undo(Subject)
    /// Operations were paused or resumed one by one.
    case pause(Subject), resume(Subject)
    /// Rules were set or lifted, which hold for later changes too.
    case pauseRules([Cause.PauseScope]), resumeRules([Cause.PauseScope])
    /// Ended the back-offs of changes. `waits`: of how many scopes it ended the wait. `throttles`: also those of the
    /// server.
    case flush(throttles: Bool, waits: Int = 0)
    /// `take`: the side of all fields but those in `fields`, by their names.
    case resolve(operation: Int64, take: String, fields: [String: String] = [:])
    case edit(operation: Int64, fields: [String])
    case seeDropped
    case acceptDeletions(zone: String), restoreDeletions(zone: String)
    case setPolicy(String)
    case releaseFromApp
    case fetchAgain(zones: [String])
    case adopt(by: String, from: String?)
  }

  /// The operations that a command was about.
  package enum Subject: Hashable, Sendable, Codable {
    /// Operations by their numbers. `more`: how many others.
    case operations([Int64], more: Int = 0)
    /// Those that match an expression or a list, as it was typed or shown.
    case matching(String)
    case all
  }
}

extension Event.Subject {
  /// The maximum number of operations that are listed; the others are counted.
  package static let limit = 20

  /// Lists the first operations, and counts the others.
  ///
  /// - Parameters:
  ///   - ids: the first operations, at least `limit` of them if there are so many.
  ///   - count: the number of all operations.
  package init(_ ids: [Int64], of count: Int) {
    let named = Array(ids.prefix(Self.limit))
    self = .operations(named, more: count - named.count)
  }

  package var text: String {
    switch self {
    case .operations(let ids, let more):
      ids.map(String.init).joined(separator: " ") + (more > 0 ? " and \(more) more" : "")
    case .matching(let text): text
    case .all: "all"
    }
  }
}

extension Event.Command {
  /// The name of its case, for people who read the audit table itself.
  package var name: String { Mirror(reflecting: self).children.first?.label ?? String(describing: self) }

  /// The command as the audit table keeps it.
  package var stored: String { Stored.encoded(self) }

  package init?(stored: String) {
    guard let command: Event.Command = Stored.decoded(stored) else { return nil }
    self = command
  }

  /// The command with the operations that it changed, where it names operations by their numbers.
  ///
  /// - Parameters:
  ///   - changed: the first operations that it changed.
  ///   - count: the number of all that it changed.
  package func naming(_ changed: [Int64], of count: Int) -> Event.Command {
    func named(_ subject: Event.Subject) -> Event.Subject {
      if case .operations = subject { Event.Subject(changed, of: count) } else { subject }
    }
    return switch self {
    case .retry(let subject): .retry(named(subject))
    case .discard(let subject): .discard(named(subject))
    case .undo(let subject): .undo(named(subject))
    case .pause(let subject): .pause(named(subject))
    case .resume(let subject): .resume(named(subject))
    default: self
    }
  }

  /// Whether the command did nothing, so that it leaves no line in the log.
  package func isEmpty(count: Int) -> Bool {
    if case .flush(_, let waits) = self, waits > 0 { false } else { count == 0 }
  }

  func text(_ count: Int) -> String {
    let changes = Words.count(count, "change")
    switch self {
    case .retry(let subject): return "retried \(changes): \(subject.text)"
    case .discard(let subject): return "discarded \(changes): \(subject.text)"
    case .undo(let subject): return "undid what was dropped of \(Words.count(count, "operation")): \(subject.text)"
    case .pause(let subject): return "paused \(changes): \(subject.text)"
    case .resume(let subject): return "resumed \(changes): \(subject.text)"
    case .pauseRules(let rules): return "paused \(Words.list(rules.map(\.text)))"
    case .resumeRules(let rules): return "resumed \(Words.list(rules.map(\.text)))"
    case .flush(let throttles, let waits):
      let ended = waits > 0 ? "ended \(Words.count(waits, "wait"))" : ""
      let parts = [count > 0 ? changes : "", ended].filter { !$0.isEmpty }
      return "retried now\(throttles ? ", the server's waits too" : ""): \(parts.joined(separator: ", "))"
    case .resolve(let operation, let take, let fields):
      let others = fields.sorted { $0.key < $1.key }.map { ", \($0.key)=\($0.value)" }.joined()
      return "resolved conflict \(operation): \(take)\(others)"
    case .edit(let operation, let fields): return "edited operation \(operation): \(fields.joined(separator: ", "))"
    case .seeDropped: return "marked \(Words.count(count, "dropped change")) as seen"
    case .acceptDeletions(let zone): return "accepted \(Words.count(count, "deletion")) in zone \(zone)"
    case .restoreDeletions(let zone): return "restored \(Words.count(count, "record")) in zone \(zone)"
    case .setPolicy(let policy): return "set the conflict policy to \(policy)"
    case .releaseFromApp: return "released \(changes) that waited for the app"
    case .fetchAgain(let zones): return "asked to fetch from the start: \(Words.list(zones))"
    case .adopt(let user, let before): return "took over \(changes) from \(before ?? "another sign-in") by \(user)"
    }
  }
}
