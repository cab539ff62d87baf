/// Why there is no screen. The numbers are those of `cknc_status`.
enum ScreenError: Int32, Error {
  case notATerminal = 1
  case termUnset = 2
  case termUnknown = 3
  case termDumb = 4
  case systemError = 5
}

extension ScreenError: CustomStringConvertible {
  /// One line: what happened; what to do.
  var description: String {
    let advice = "or use a subcommand with --json"
    return switch self {
    case .notATerminal:
      "input or output is not a terminal; run it in one, \(advice)"
    case .termUnset:
      "TERM is not set; set it to your terminal's name, such as xterm-256color, \(advice)"
    case .termUnknown:
      "no terminal description fits TERM; install ncurses-base or set TERM to xterm, \(advice)"
    case .termDumb:
      "the terminal that TERM names cannot place the cursor; set TERM to xterm, \(advice)"
    case .systemError:
      "the terminal could not be set up; check the limits on memory and open files, \(advice)"
    }
  }
}
