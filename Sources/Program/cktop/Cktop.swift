import ArgumentParser
import Dispatch
import Facts
import Foundation

/// The program: runs `Cktop` on the main actor. It is not asynchronous itself, because Dispatch traps where it cannot
/// open a few files of its own, before a command could check the limit.
@main
enum Program {
  @MainActor static func main() {
    DescriptorLimit.raise()
    if let failure = DescriptorLimit.refusal {
      failure.report()
      exit(failure.status.rawValue)
    }
    DescriptorLimit.limitEventLoops()
    // Begins on this thread: on any other, the C library asks the system for memory page by page, which takes a quarter
    // of the time to the first screen.
    Task.immediate { @MainActor in
      await Cktop.main()
      exit(0)
    }
    dispatchMain()
  }
}

/// The command line: one subcommand per verb.
struct Cktop: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cktop",
    abstract: "Show and operate CloudKit sync: what is not yet sent, why, and what to do about it.",
    discussion: """
      Exit codes: 0 done; 1 some items failed, or differences; 2 usage error; 3 a person is needed (authentication, \
      permission, quota, conflicts); 4 the store cannot be opened or is damaged; 5 the cloud could not be reached.
      """,
    version: Words.version,
    subcommands: [
      OpenDashboard.self, StatusCommand.self, AccountCommand.self, SyncCommand.self, EventsCommand.self,
      QueueCommand.self,
      ConflictsCommand.self, RecordsCommand.self, ZonesCommand.self, VerifyCommand.self, SchemaCommand.self,
      DemoCommand.self, ServeCommand.self, KeygenCommand.self, ThemesCommand.self, ConfigCommand.self,
      DoctorCommand.self, FaultsHelp.self, AdminHelp.self, AssumptionsHelp.self, KeysHelp.self,
    ],
    defaultSubcommand: OpenDashboard.self
  )

  /// Runs a command and exits with the code of the contract.
  static func main() async {
    // Files that cktop creates are private to the user: stores, logs, keys, the emulator's data.
    umask(0o077)
    do {
      try requireText()
      let arguments = Array(CommandLine.arguments.dropFirst())
      try EmptyValues.refuse(in: arguments)
      try CommandName.check(StoreOptions.afterVerb(arguments), under: Self.self)
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

  /// Refuses arguments that are not UTF-8: they would be misread, stored and sent that way.
  private static func requireText() throws(CommandFailure) {
    for (index, argument) in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
      .enumerated()
    {
      guard let argument, String(validatingCString: argument) == nil else { continue }
      throw .usage("argument \(index) is not UTF-8; give it as UTF-8, or import it from a file")
    }
  }
}
