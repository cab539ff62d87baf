/// A behaviour of the server on which the emulator and the sync engine rest, and the requests that test it.
package struct ContractCheck: Sendable {
  /// The certainty and source of a rule. The raw value is its mark in the protocol reference (reference 0.1).
  package enum Evidence: String, Sendable, CaseIterable {
    case documented = "D"
    case documentedByCloudKitJS = "JS"
    case documentedByFramework = "FW"
    case observed = "L3"
    case observedAtApple = "L1"
    case inferred = "C"
    case reported = "2nd"
    case decided = "E"
    case assumed = "?"
  }

  /// The least that a check needs. Each includes the ones before it, except `key`.
  enum Need: Sendable {
    case server
    /// A server-to-server key.
    case key
    /// A signed-in user.
    case user
    /// The zone of the run.
    case zone
    /// Records of the run's type, which the server must accept.
    case records
    /// Records that queries find.
    case queries
  }

  /// The number in the protocol reference: `5.3`, or `Question 4` for an assumption.
  package let rule: String
  package let evidence: Evidence
  /// The property of `EmulatorAssumptions` that sets this behaviour in the emulator; nil for a rule without a switch.
  package let assumption: String?
  /// The behaviour, as one sentence.
  package let sentence: String
  let need: Need
  let test: @Sendable (ContractScratch) async throws -> ContractOutcome

  static func rule(
    _ rule: String,
    _ evidence: Evidence,
    _ need: Need,
    _ sentence: String,
    test: @escaping @Sendable (ContractScratch) async throws -> ContractOutcome
  ) -> ContractCheck {
    ContractCheck(rule: rule, evidence: evidence, assumption: nil, sentence: sentence, need: need, test: test)
  }

  static func assumption(
    _ name: String,
    _ question: Int,
    _ need: Need,
    _ sentence: String,
    test: @escaping @Sendable (ContractScratch) async throws -> ContractOutcome
  ) -> ContractCheck {
    ContractCheck(
      rule: "Question \(question)",
      evidence: .decided,
      assumption: name,
      sentence: sentence,
      need: need,
      test: test
    )
  }

  /// An assumption that one run by one user cannot test.
  static func untestable(_ name: String, _ question: Int, _ sentence: String, because reason: String) -> ContractCheck {
    assumption(name, question, .server, sentence) { _ in .notTried(reason) }
  }
}

/// The result of a check.
package enum ContractOutcome: Hashable, Sendable {
  /// The server behaves as the emulator does.
  case asAssumed
  /// The server behaves in another way: what came instead, without private values.
  case otherwise(String)
  /// The behaviour was not tested, and why.
  case notTried(String)

  /// Returns the outcome of a comparison.
  ///
  /// - Parameter came: what came instead.
  static func of(_ holds: Bool, came: @autoclosure () -> String) -> ContractOutcome {
    holds ? .asAssumed : .otherwise(came())
  }
}

/// Ends a check that could not be made: the reason.
struct ContractSkip: Error {
  let reason: String
}

extension ContractCheck {
  /// All checks, in the order in which they run: the assumptions in the order of the questions' switches, then the
  /// rules in the order of the protocol reference.
  package static let all: [ContractCheck] =
    requestAssumptions + writingAssumptions + schemaAssumptions + readingAssumptions + zoneAssumptions
    + subscriptionAssumptions + requestRules + fieldRules + recordRules + conflictRules + changeRules + serviceRules
}
