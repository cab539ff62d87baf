import Foundation
import Testing

@testable import CloudSync

/// Compares a table with the file of that name beside the tests; with `RECORD_SNAPSHOTS=1` writes the file first.
func expectRecorded(_ name: String, _ table: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: name)
  if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] == "1" { try Data(table.utf8).write(to: file) }
  #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self) == table, sourceLocation: sourceLocation)
}

extension FieldChanges {
  /// The names of what is sent, for a table.
  var listed: String { (values.keys.sorted() + cleared.sorted().map { "no \($0)" }).joined(separator: ", ") }
}
