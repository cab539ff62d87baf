import CloudKit
import Facts

/// A word to find in what lists show of a record: anywhere, or, as `title=Buy`, in the field of that name.
struct RecordWord: Hashable, Sendable {
  private let word: [UInt8]
  private let field: [UInt8]?
  private let value: [UInt8]

  init(_ word: String) {
    self.word = word.utf8.map(\.lowercased)
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let isOfField = parts.count == 2 && !parts[0].isEmpty
    field = isOfField ? parts[0].utf8.map(\.lowercased) : nil
    value = isOfField ? parts[1].utf8.map(\.lowercased) : []
  }

  func isIn(_ record: MirrorRecord) -> Bool {
    for text in [record.key.name, record.type, record.key.zone] where text.contains(lowercased: word) { return true }
    return record.fields.contains { name, value in
      let text = value.text
      if text.contains(lowercased: word) { return true }
      return field.map { name.utf8.map(\.lowercased) == $0 && text.contains(lowercased: self.value) } ?? false
    }
  }

  /// Texts that the stored form of every record with this word has. Only letters are the same there: dates are stored as
  /// numbers, and quotes with a backslash.
  var storedTexts: [String] {
    (field.map { [$0, value] } ?? [word]).filter { text in
      text.count > 1 && text.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }.map { String(decoding: $0, as: UTF8.self) }
  }
}

extension UInt8 {
  /// The lower-case letter of an ASCII capital; any other byte as it is.
  fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension String {
  /// Whether a text of lower-case bytes is in this one in any letter case.
  fileprivate func contains(lowercased text: [UInt8]) -> Bool {
    guard let first = text.first else { return true }
    var copy = self
    return copy.withUTF8 { bytes in
      guard bytes.count >= text.count else { return false }
      for start in 0...bytes.count - text.count where bytes[start].lowercased == first {
        if (1..<text.count).allSatisfy({ bytes[start + $0].lowercased == text[$0] }) { return true }
      }
      return false
    }
  }
}
