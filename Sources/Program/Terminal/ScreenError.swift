/// The reason why there is no screen. The numbers are those of `cknc_status`.
package enum ScreenError: Int32, Error {
  case notATerminal = 1
  case termUnset = 2
  case termUnknown = 3
  case termDumb = 4
  case systemError = 5
}

extension ScreenError: CustomStringConvertible {
  /// One line: what happened; what to do.
  package var description: String {
    let advice = "or use a subcommand with --json"
    return switch self {
    case .notATerminal:
      "input or output is not a terminal; run it in a terminal, \(advice)"
    case .termUnset:
      "TERM is not set; set it to your terminal's name, such as xterm-256color, \(advice)"
    case .termUnknown:
      "there is no description of the terminal in TERM; install ncurses-base or set TERM to xterm, \(advice)"
    case .termDumb:
      "the terminal in TERM cannot position the cursor; set TERM to xterm, \(advice)"
    case .systemError:
      "the terminal could not be set up; check the limits on memory and open files, \(advice)"
    }
  }
}
