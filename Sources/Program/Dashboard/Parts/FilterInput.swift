import CloudSync
import TerminalUI

/// The filter of a list, and the line in which it is typed.
struct FilterInput: Sendable {
  /// The line while the filter is typed.
  private(set) var line: InputLine?
  private(set) var text = ""
  /// The text by which the list is filtered: the last one without a mistake.
  private var applied = ""
  /// The mistake in the text; the list then stays as it was.
  private(set) var error: FilterError?

  mutating func begin() { line = InputLine(prompt: "/", text: text) }

  /// Sets the text. Returns the filter; nil if the text has a mistake.
  ///
  /// - Parameter table: the list whose columns an expression may name; nil: words only.
  mutating func set(_ text: String, of table: FilterTable?) -> ListFilter? {
    self.text = text
    switch ListFilter.parse(text, of: table) {
    case .success(let filter):
      (error, applied) = (nil, text)
      return filter
    case .failure(let error):
      self.error = error
      return nil
    }
  }

  /// The effect of a key on the text.
  enum Typed: Hashable, Sendable {
    /// The key means something else.
    case ignored
    case handled
    /// The text is to be set to this one.
    case changed(String)
  }

  /// Takes a key while the filter is typed.
  mutating func type(_ key: Key) -> Typed {
    guard var line else { return .ignored }
    switch key {
    case .enter:
      // A list that a mistake leaves as it was must not be acted on as if it were filtered.
      if error == nil { self.line = nil }
      return .handled
    case .escape:
      self.line = nil
      return .changed("")
    default:
      guard line.handle(key) else { return .handled }
      self.line = line
      return .changed(line.text)
    }
  }

  /// The line while it is typed, with the mistake or the count.
  func prompt(_ count: @autoclosure () -> StyledText) -> Prompt? {
    line.map { line in
      Prompt(input: line, note: error.map { StyledText("Column \($0.column): \($0.message)", .error) } ?? count())
    }
  }

  /// The text for a frame's note.
  var note: StyledText {
    // The counts beside it matter more.
    let short = applied.count > 24 ? "\(applied.prefix(23))…" : applied
    return applied.isEmpty ? "" : StyledText("/\(short)  ", .match)
  }
}

/// A line that is being typed, with a remark at its right.
struct Prompt: Sendable {
  var input: InputLine
  var note: StyledText
}
