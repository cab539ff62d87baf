/// An error in one field of a change.
package struct FieldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The field, if any.
  package let field: String?
  /// The problem and a suggestion, as one clause without a full stop.
  package let message: String

  package init(field: String?, _ message: String) {
    self.field = field
    self.message = message
  }

  package var description: String { message }
}

/// CloudKit's rules for names.
package enum NameRule {
  /// Whether a name starts with a letter, followed by letters, digits and `_`, as required for fields and record types.
  package static func isFieldName(_ name: String) -> Bool {
    guard let first = name.utf8.first, first.isLetter, name.utf8.count <= 255 else { return false }
    return name.utf8.dropFirst().allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
  }

  /// The reason why a text cannot be a record name; nil if it can.
  package static func recordNameProblem(_ name: String) -> String? {
    if name.hasPrefix("_") { return "a record name must not begin with _" }
    return referenceNameProblem(name)
  }

  /// The reason why a text cannot be the name of a referenced record: users' own records begin with `_`.
  package static func referenceNameProblem(_ name: String) -> String? {
    if name.isEmpty { return "a record name must not be empty" }
    return characterProblem(name).map { "a record name \($0)" }
  }

  /// The reason why a text cannot be a zone name; nil if it can.
  package static func zoneNameProblem(_ name: String) -> String? {
    if name.isEmpty { return "a zone name must not be empty" }
    return characterProblem(name).map { "a zone name \($0)" }
  }

  private static func characterProblem(_ name: String) -> String? {
    if name.unicodeScalars.count > 255 { return "has at most 255 characters" }
    if name.unicodeScalars.contains("\0") { return "must not hold a NUL character" }
    return nil
  }
}

extension UInt8 {
  var isLetter: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
  }

  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
