package import CloudSync
import Facts

/// A column of an imported file, or a member of its objects: the type that its values get, and why.
package struct ImportColumn: Hashable, Sendable {
  /// A date without a time that becomes midnight UTC.
  package struct Midnight: Hashable, Sendable {
    package let date: String
    package let line: Int
  }

  package let field: String
  /// The wire type; nil if there is no value.
  package let type: String?
  package let reason: ColumnType.Reason
  /// The first date without a time; nil if there is none.
  package var midnight: Midnight?

  /// The reason in words.
  package var text: String {
    let dates = midnight.map { "; dates such as '\($0.date)' of line \($0.line) are midnight UTC" } ?? ""
    return reasonText + dates
  }

  private var reasonText: String {
    switch reason {
    case .given(nil): "as given"
    case .given(let queued?): "as given; queued changes have \(queued)"
    case .known: "the type it has already"
    case .queued(nil): "the type it has in queued changes"
    case .queued(let own?): "the type it has in queued changes; by the file alone it would be \(own)"
    case .integers: "whole numbers"
    case .fractions: "numbers with decimal places"
    case .text(let value, let line): "line \(line) has the text '\(value.shortened(to: 40))'"
    case .code(let value, let line):
      "as a number, '\(value.shortened(to: 40))' of line \(line) would not stay as written"
    case .emptyTexts: "empty texts"
    case .empty: "no values"
    }
  }

  /// A warning to print before the records are enqueued, if queued changes disagree about the type.
  package var warning: String? {
    guard let type else { return nil }
    switch reason {
    case .queued(let own?):
      return
        "\(field) is \(type) in queued changes, and by the file alone it would be \(own); its values become \(type), "
        + "--column \(field)=\(own) makes them \(own)"
    case .given(let queued?):
      return "\(field) is \(queued) in queued changes and becomes \(type) here; the server takes only one of the two"
    default: return nil
    }
  }
}
