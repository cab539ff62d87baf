import Facts

/// A rule that pauses changes, including later ones.
package enum PauseRule: Hashable, Sendable {
  /// No request is made at all.
  case everything
  /// Nothing is sent to a zone. It is still fetched.
  case zone(ZoneKey)
  /// Nothing of a record type is sent. It is still fetched.
  case type(String)

  /// The rule in words, for messages and the audit log.
  package var text: String { asCause.text }

  /// The scope of the rule in a cause.
  var asCause: Cause.PauseScope {
    switch self {
    case .everything: .everything
    case .zone(let zone): .zone(zone.zone, owner: zone.owner.isEmpty ? nil : zone.owner)
    case .type(let type): .type(type)
    }
  }
}

extension PauseRule {
  /// The command that lifts the rule and no other. For the pause of everything it lifts all rules.
  package var resumeCommand: String { asCause.resumeCommand }

  /// Whether the rule pauses an operation on a zone, or on a record of this type there.
  package func holds(_ zone: ZoneKey, type: String?) -> Bool {
    switch self {
    case .everything: true
    case .zone(let paused): paused == zone
    case .type(let paused): paused == type
    }
  }
}

/// A rule in effect, with its start and its actor.
package struct Pause: Hashable, Identifiable, Sendable {
  package var id: PauseRule { rule }
  package var rule: PauseRule
  /// Milliseconds since 1970.
  package var at: Int64
  /// The person who paused; nil if it is not known.
  package var actor: String?

  /// The reason shown in lists for an operation under this rule.
  package var reason: String { Cause.pausedByRule(rule.asCause, by: actor).text }
}

extension [Pause] {
  /// The rule that pauses everything; nil if it is not in effect.
  package var ofEverything: Pause? { first { $0.rule == .everything } }

  /// The rules in words, as many as a sentence names.
  package var reasons: String { Words.list(map(\.reason)) }

  /// The commands that lift these rules, as many as a sentence names; that for everything lifts all.
  package var resumeCommands: String {
    if let all = ofEverything { return all.rule.resumeCommand }
    return Words.list(map(\.rule.resumeCommand))
  }
}
