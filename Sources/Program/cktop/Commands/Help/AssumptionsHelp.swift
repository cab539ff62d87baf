import ArgumentParser
import CloudKitEmulator
import TerminalUI

/// `cktop help assumptions`: the help page for the switches of a server.
struct AssumptionsHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "assumptions",
    abstract: "The switches of cktop serve --assume: how CloudKit behaves where it is undocumented.",
    usage: "cktop serve --assume NAME=VALUE",
    discussion: """
      Test a client against each behaviour that CloudKit may turn out to have. EmulatorAssumptions in the \
      documentation of CloudKitEmulator explains each switch. The first value is the default.

      \(table)
      """,
    shouldDisplay: false
  )

  private static var table: String {
    EmulatorAssumption.all.map { "  \($0.name.padding(to: 29))\($0.values)" }.joined(separator: "\n")
  }

  func run() async throws { throw CleanExit.helpRequest(self) }
}
