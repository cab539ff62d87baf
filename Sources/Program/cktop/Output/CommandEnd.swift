import ArgumentParser
package import Facts
import Foundation
package import Terminal

extension CommandFailure {
  /// The line for standard error. Line breaks and control characters of the message are made visible.
  var line: String { "cktop: \(message.visible)" }

  /// Prints the failure; the command continues.
  func report() { OutputFile.error.line(line) }
}

extension ScreenError: CommandError {
  package var failure: CommandFailure { .usage(description) }
}

/// The end of a run: text for the two outputs, and the exit code.
struct CommandEnd: Hashable, Sendable {
  var standardOutput: String?
  var standardError: String?
  var code: Int32

  /// Converts what a command or its parsing threw: help and version are not failures, usage errors exit with 2.
  ///
  /// - Parameter arguments: those of the command line, which the parser quotes whole.
  init(
    _ error: any Error,
    of command: (some ParsableCommand).Type,
    arguments: [String] = CommandLine.arguments
  ) {
    if let failure = CommandFailure(error) {
      self.init(standardError: failure.line, code: failure.status.rawValue)
      return
    }
    let code = command.exitCode(for: error)
    let text = command.fullMessage(for: error)
    if code == .success {
      // A verb whose own option is --version does not take the program's, which the parser lists everywhere.
      let hasOwn = text.contains("--version <version>")
      self.init(standardOutput: hasOwn ? text.replacing(/\n *--version +Show the version\./, with: "") : text, code: 0)
    } else if code == .validationFailure {
      let quoted = arguments.flatMap { [$0] + $0.split(separator: "=", maxSplits: 1).map(String.init) }
      let long = quoted.filter { $0.utf8.count > Words.listed }.sorted { $0.utf8.count > $1.utf8.count }
      let whole = long.reduce(command.message(for: error)) { $0.replacingOccurrences(of: $1, with: $1.excerpt) }
      let parsers = whole.split(whereSeparator: \.isNewline).joined(separator: " ")
        .replacing(". Did you mean", with: "; did you mean")
      let message = CommandName.unknownOption(in: arguments, under: command) ?? parsers
      let advice = message.hasSuffix("?") ? message : "\(message.withoutFullStop); see cktop help"
      self.init(standardError: CommandFailure.usage(advice).line, code: CommandStatus.usage.rawValue)
    } else if error is ArgumentParser.ExitCode {
      self.init(code: code.rawValue)
    } else {
      self.init(standardError: CommandFailure("\(error)", .itemsFailed).line, code: CommandStatus.itemsFailed.rawValue)
    }
  }

  private init(standardOutput: String? = nil, standardError: String? = nil, code: Int32) {
    (self.standardOutput, self.standardError, self.code) = (standardOutput, standardError, code)
  }

  /// Writes both texts.
  func write() {
    if let standardOutput { OutputFile.standard.line(standardOutput) }
    if let standardError { OutputFile.error.line(standardError) }
  }
}
