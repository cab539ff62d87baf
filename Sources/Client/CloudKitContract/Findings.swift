/// Collects what differs in a check of several values.
struct Findings {
  private var differing: [String] = []

  mutating func expect(_ holds: Bool, _ name: String) {
    if !holds { differing.append(name) }
  }

  /// - Parameter prefix: words before the names of what differs.
  func outcome(_ prefix: String = "other than assumed: ") -> ContractOutcome {
    .of(differing.isEmpty, came: prefix + differing.joined(separator: ", "))
  }
}
