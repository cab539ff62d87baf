import CloudService
import Facts
import Foundation
import Glibc

/// Asks a yes-or-no question on a terminal.
enum Confirmation {
  /// Whether standard input and standard error are both terminals.
  static var canBeAsked: Bool { isatty(STDIN_FILENO) == 1 && OutputFile.error.isTerminal }

  /// Throws unless a destructive command can be confirmed: by `--yes`, or on a terminal.
  static func needAnswer(_ yes: Bool, _ reason: String, preview: String = "") throws(CommandFailure) {
    guard yes || canBeAsked else { throw .usage("\(reason); give --yes to confirm\(preview)") }
  }

  /// Asks the question of a command; true without asking if no change matches.
  ///
  /// - Throws: `CommandFailure` if input or output is not a terminal.
  static func isGiven(_ question: CommandQuestion) throws(CommandFailure) -> Bool {
    let (reason, preview) = question.confirmation
    try needAnswer(false, reason, preview: preview)
    return question.matchesNothing || ask(question.text.visible)
  }

  /// Asks; any answer but yes means no.
  static func ask(_ text: String) -> Bool {
    OutputFile.error.write(text + " [y/N] ")
    // A read in the background stops the process only where the signal for it is not blocked, as it is on threads that
    // serve queues.
    var stop = sigset_t()
    sigemptyset(&stop)
    sigaddset(&stop, SIGTTIN)
    pthread_sigmask(SIG_UNBLOCK, &stop, nil)
    let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased()
    let isYes = answer == "y" || answer == "yes"
    if !isYes { OutputFile.error.line("Nothing was done.") }
    return isYes
  }
}
