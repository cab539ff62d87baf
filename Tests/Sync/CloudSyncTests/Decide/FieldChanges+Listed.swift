@testable import CloudSync

extension FieldChanges {
  /// The names of what is sent, for a table.
  var listed: String { (values.keys.sorted() + cleared.sorted().map { "no \($0)" }).joined(separator: ", ") }
}
