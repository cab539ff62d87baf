import CloudKit
import CloudKitSchema

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
package struct NameRule: Hashable, Sendable {
  /// Whether the names of records and zones have only ASCII characters. That the server wants this is an assumption:
  /// Apple states it for the framework.
  package var isASCIIOnly = true

  package init(isASCIIOnly: Bool = true) { self.isASCIIOnly = isASCIIOnly }

  /// The rules that hold without assumptions.
  package static let certain = NameRule(isASCIIOnly: false)

  /// Whether a name starts with a letter, followed by letters, digits and `_`, as required for fields and record types.
  package static func isFieldName(_ name: String) -> Bool { CKSchema.isName(name) }

  /// The reason why a text cannot be a record name; nil if it can.
  ///
  /// - Parameter mayBeUser: whether the name may begin with `_`, as those of users' own records do.
  package func recordNameProblem(_ name: String, mayBeUser: Bool = false) -> String? {
    problem(name, mayBeReserved: mayBeUser).map { "a record name \($0)" }
  }

  /// The reason why a text cannot be a zone name; nil if it can.
  package func zoneNameProblem(_ name: String) -> String? {
    problem(name, mayBeReserved: name == WireZoneID.defaultZoneName).map { "a zone name \($0)" }
  }

  private func problem(_ name: String, mayBeReserved: Bool) -> String? {
    let isReserved = name.utf8.first == UInt8(ascii: "_") && !mayBeReserved
    // Most names, of which there may be millions.
    if !isReserved, (1...255).contains(name.utf8.count), name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
      return nil
    }
    let characters = name.unicodeScalars
    if characters.isEmpty { return "must not be empty" }
    if isReserved { return "must not begin with _" }
    if characters.count > 255 { return "has at most 255 characters" }
    if characters.contains(where: { $0.properties.generalCategory == .control }) {
      return "must not hold control characters"
    }
    if isASCIIOnly, let other = characters.first(where: { !$0.isASCII }) {
      return "has only ASCII characters, which '\(other)' is not"
    }
    return nil
  }
}

extension UInt8 {
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
