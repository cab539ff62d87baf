package import TerminalUI

/// A label with a value: a line of a screen's details, and of the text of the command line.
package typealias Fact = KeyValues.Pair

extension Fact {
  /// Makes a fact whose value has one role.
  package init(_ label: String, _ text: String, _ role: StyleRole = .text) { self.init(label, StyledText(text, role)) }

  /// The fact as a line in which all values begin in the same column.
  package var line: StyledText { [.init(key.padding(to: 18), .dim)] + value }
}
