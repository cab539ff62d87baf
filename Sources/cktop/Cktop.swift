import ArgumentParser
import Foundation

/// The command line: one verb a subcommand.
@main
struct Cktop: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cktop",
    abstract: "What this machine has not yet sent to CloudKit, why, and what to do about it.",
    discussion: """
      Exit codes: 0 done; 1 failures among the items, or differences; 2 usage; 3 a person is needed (authentication, \
      permission, quota, conflicts); 4 the store cannot be opened or is damaged; 5 the cloud could not be reached.
      """,
    version: "0.1.0",
    subcommands: [
      OpenDashboard.self, StatusCommand.self, AccountCommand.self, SyncCommand.self, EventsCommand.self,
      QueueCommand.self,
      ConflictsCommand.self, RecordsCommand.self, ZonesCommand.self, VerifyCommand.self, DemoCommand.self,
      ServeCommand.self, KeygenCommand.self, ThemesCommand.self, ConfigCommand.self, FaultsHelp.self,
      AdminHelp.self, AssumptionsHelp.self,
    ],
    defaultSubcommand: OpenDashboard.self
  )

  /// Runs a command and exits with the code of the contract.
  static func main() async {
    // What is written here is the user's own: stores, logs beside them, keys, the emulator's data.
    umask(0o077)
    DescriptorLimit.raise()
    do {
      try requireText()
      let arguments = Array(CommandLine.arguments.dropFirst())
      try EmptyValues.refuse(in: arguments)
      var command = try parseAsRoot(StoreOptions.afterVerb(arguments))
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      let end = CommandEnd(error, of: Self.self)
      end.write()
      Foundation.exit(end.code)
    }
  }

  /// Refuses arguments that are no text: they would be read as others, and kept and sent like that.
  private static func requireText() throws(CommandFailure) {
    for (index, argument) in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
      .enumerated()
    {
      guard let argument, String(validatingCString: argument) == nil else { continue }
      throw .usage("argument \(index) is not UTF-8; give it as UTF-8, or import it from a file")
    }
  }
}
