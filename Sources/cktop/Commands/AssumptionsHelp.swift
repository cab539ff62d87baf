import ArgumentParser

/// `cktop help assumptions`: the page about the switches of a server, reached like the help of a verb.
struct AssumptionsHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "assumptions",
    abstract: "The switches of cktop serve --assume: how CloudKit behaves where no source tells.",
    usage: "cktop serve --assume NAME=VALUE",
    discussion: """
      Try a client against each answer that CloudKit may turn out to give. EmulatorAssumptions in the documentation of \
      CloudKitEmulator tells what each of them is about. The first value is the default.

      \(table)
      """,
    shouldDisplay: false
  )

  private static var table: String {
    Assumption.all.map { assumption in
      let gap = String(repeating: " ", count: max(1, 29 - assumption.name.count))
      return "  \(assumption.name)\(gap)\(assumption.values)"
    }
    .joined(separator: "\n")
  }

  func run() async throws { throw CleanExit.helpRequest(self) }
}
