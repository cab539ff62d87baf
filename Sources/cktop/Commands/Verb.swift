import ArgumentParser

/// A subcommand that looks at or acts on a store: what all of them share.
protocol Verb: AsyncParsableCommand {
  var options: StoreOptions { get }

  /// Does the verb's work.
  func run(_ session: Session) async throws
}

extension Verb {
  func run() async throws {
    let session = try Session(options)
    try DescriptorLimit.require()
    try await run(session)
  }
}

extension CommandStatus {
  /// Ends the command with this status and no further words, unless all is well.
  func end() throws {
    if self != .done { throw ArgumentParser.ExitCode(rawValue) }
  }
}

extension CommandFailure {
  /// Puts the failure among a command's results, which go on.
  func report() { OutputStream.error.line(line) }
}
