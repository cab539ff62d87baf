import Crypto
import JSONText

/// An opaque version of something that a person decides about. It changes with the thing, so that a decision applies
/// only to what was shown.
package enum DecisionVersion {
  private static let length = 12
  private static let digits = Set("0123456789abcdef")

  /// Whether a text has the form of a version.
  package static func isWellFormed(_ text: String) -> Bool { text.count == length && digits.isSuperset(of: text) }

  /// The version of a queued operation.
  ///
  /// - Parameter serverTag: the change tag of the server's record, nil if there is none; relevant only in a conflict.
  static func operation(
    _ id: Int64,
    _ kind: OperationKind,
    _ state: OperationState,
    generation: Int64,
    isUnconfirmed: Bool,
    serverTag: String?
  ) -> String {
    // An operation in flight whose process died becomes pending and unconfirmed, without a change of version.
    let isInFlight = state == .inFlight
    let server = state == .conflict ? serverTag.map { "tag \($0)" } ?? "gone" : ""
    return text(
      "operation",
      "\(id)",
      kind.rawValue,
      isInFlight ? OperationState.pending.rawValue : state.rawValue,
      "\(generation)",
      "\(isUnconfirmed || (isInFlight && !kind.isOfZone))",
      server
    )
  }

  /// The version of the deletions that a zone has on hold.
  static func hold(_ zone: ZoneKey, since: Int64, number: Int64) -> String {
    text("hold", zone.owner, zone.zone, "\(since)", "\(number)")
  }

  private static func text(_ facts: String...) -> String {
    SHA256.hash(data: Array(facts.joined(separator: "\n").utf8)).prefix(length / 2).hexadecimal
  }
}

extension QueuedOperation {
  /// The operation's version; in a conflict it depends on the server's change tag.
  package func version(serverTag: String?) -> String {
    DecisionVersion.operation(
      id,
      kind,
      state,
      generation: generation,
      isUnconfirmed: isUnconfirmed,
      serverTag: serverTag
    )
  }
}
