/// The result of a run, without private values.
package struct ContractReport: Sendable {
  /// A check with its outcome.
  package struct Line: Sendable {
    package let check: ContractCheck
    package let outcome: ContractOutcome
  }

  package let lines: [Line]
  /// The number of requests sent.
  package let requests: Int
  /// The name of the zone if it could not be removed. The next run removes it.
  package let leftZone: String?

  /// The lines whose behaviour is another than assumed.
  package var differing: [Line] {
    lines.filter { if case .otherwise = $0.outcome { true } else { false } }
  }

  package var untried: [Line] {
    lines.filter { if case .notTried = $0.outcome { true } else { false } }
  }
}
