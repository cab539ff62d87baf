import CloudSync
import Facts
import Foundation

/// The meaning of `~` and `$HOME` in a path, wherever it is given: a shell replaces them in some places and not in
/// others, and a file has no shell.
enum PathRule {
  /// The reason why a path is refused, and what to write; nil if it can be used.
  static func problem(_ path: String) -> String? {
    let parts = path.split(separator: "/")
    if let first = parts.first, path.hasPrefix("~"), first != "~" {
      return "\(String(first).excerpt) is not replaced by a home folder; write ~/ for your own, or the whole path"
    }
    let hasVariable = parts.contains { part in
      guard part.first == "$", let next = part.dropFirst().first else { return false }
      return next.isLetter || next == "_" || next == "{"
    }
    return hasVariable
      ? "variables such as $HOME are not replaced; write ~/ for the home folder, or the whole path" : nil
  }

  /// The path with the home folder in place of `~`.
  static func expanded(_ path: String, _ environment: [String: String]) -> String {
    path == "~" || path.hasPrefix("~/") ? BaseDirectory.home(environment) + path.dropFirst() : path
  }
}

extension String {
  /// Reads a path of the command line.
  static func path(_ argument: String) throws(CommandFailure) -> String {
    if let problem = PathRule.problem(argument) { throw .usage(problem) }
    return PathRule.expanded(argument, ProcessInfo.processInfo.environment)
  }
}
