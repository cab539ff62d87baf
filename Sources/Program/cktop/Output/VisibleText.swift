import TerminalUI

extension String {
  /// The text as it may reach a terminal, as the dashboard shows it: control and invisible characters become symbols.
  var visible: String { sanitize(self) }

  /// The columns that the text takes on a terminal.
  var columns: Int { cells(self) }

  /// The text cut to a number of columns, with `…` at the cut.
  func cut(toColumns limit: Int) -> String { clip(self, to: limit) }
}
