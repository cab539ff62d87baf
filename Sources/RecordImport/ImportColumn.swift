package import CloudSync
import Facts

/// A column of an imported file, or a member of its objects: the type that its values get, and why.
package struct ImportColumn: Hashable, Sendable {
  package let field: String
  /// The wire type; nil if there is no value.
  package let type: String?
  package let reason: ColumnType.Reason

  /// The reason in words.
  package var text: String {
    switch reason {
    case .given: "as given"
    case .known: "the type it has already"
    case .integers: "whole numbers"
    case .fractions: "numbers with decimal places"
    case .text(let value, let line): "line \(line) has the text '\(value.shortened(to: 40))'"
    case .code(let value, let line):
      "as a number, '\(value.shortened(to: 40))' of line \(line) would not stay as written"
    case .emptyTexts: "empty texts"
    case .empty: "no values"
    }
  }
}
