import ArgumentParser
import CloudSync
import Facts
import Synchronization

/// A subcommand that reads or changes a store.
protocol Verb: AsyncParsableCommand {
  var options: StoreOptions { get }

  /// Runs the verb.
  func run(_ session: Session) async throws
}

extension Verb {
  func run() async throws {
    let session = try Session(options)
    session.masksErrors()
    try await run(session)
  }
}

/// A verb that changes something in the store, at least with some of its options.
protocol ChangingVerb: Verb {}

extension CommandStatus {
  /// Exits with this status and without a message, unless it is `done`.
  func end() throws {
    if self != .done { throw ArgumentParser.ExitCode(rawValue) }
  }
}
