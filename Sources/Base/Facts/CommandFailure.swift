/// The error that stops a command: what happened and what to do, on one line, and the exit code.
package struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// `what happened; what to do`.
  package let message: String
  package let status: CommandStatus

  package init(_ message: String, _ status: CommandStatus) { (self.message, self.status) = (message, status) }

  package static func usage(_ message: String) -> CommandFailure { CommandFailure(message, .usage) }

  package var description: String { message }
}

/// An error that can stop a command.
package protocol CommandError: Error {
  /// The error as the one that stops a command.
  var failure: CommandFailure { get }
}

extension CommandFailure: CommandError {
  package var failure: CommandFailure { self }

  /// The failure for an error of unknown type; nil if it cannot stop a command with a message of its own.
  package init?(_ error: any Error) {
    guard let error = error as? any CommandError else { return nil }
    self = error.failure
  }
}
