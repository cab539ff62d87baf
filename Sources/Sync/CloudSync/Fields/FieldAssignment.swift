package import CloudKit
import Facts
import Foundation
import JSONText

/// One `FIELD=VALUE`, `FIELD:TYPE=VALUE` or `FIELD=` of `records put`. The value of an asset is the path of its file.
///
/// ```swift
/// let assignment = try FieldAssignment(parsing: "due:TIMESTAMP=2026-01-31T12:00:00Z")
/// fields[assignment.name] = try assignment.value(knownType: mirrorType)
/// ```
package struct FieldAssignment: Hashable, Sendable {
  /// The field to set or clear.
  package let name: String
  /// The explicit type, if any.
  package let type: WireTypeTag?
  private let text: String

  /// Parses arguments; no two may set the same field.
  package static func all(parsing arguments: [String]) throws(FieldError) -> [FieldAssignment] {
    let all = try arguments.map { (argument) throws(FieldError) in try FieldAssignment(parsing: argument) }
    if let twice = Dictionary(grouping: all, by: \.name).filter({ $1.count > 1 }).keys.min() {
      throw FieldError(field: twice, "\(twice) is set twice; give each field once")
    }
    return all
  }

  /// The assignment as it was written.
  package var written: String { "\(name)\(type.map { ":\($0)" } ?? "")=\(text)" }

  /// Parses an argument; the value is converted when the field's type is known.
  package init(parsing argument: String) throws(FieldError) {
    guard let equals = argument.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      throw FieldError(field: nil, "'\(argument.excerpt)' sets no field; write FIELD=VALUE, or FIELD= to clear one")
    }
    let target = argument[..<equals]
    let colon = target.utf8.firstIndex(of: UInt8(ascii: ":"))
    name = String(target[..<(colon ?? target.endIndex)])
    text = String(argument[argument.utf8.index(after: equals)...])
    guard NameRule.isFieldName(name) else { throw FieldError(field: name.excerpt, NameRule.fieldNameProblem(name)) }
    guard let colon else {
      type = nil
      return
    }
    type = try WireTypeTag.written(String(target[target.utf8.index(after: colon)...]), for: name, mayBeAsset: true)
  }

  /// The path of an asset's file; nil if the field has another type, or is cleared.
  package func assetPath(knownType: String?) -> String? {
    let target = type ?? knownType.flatMap(WireTypeTag.init)
    return target == .scalar(.asset) && !text.isEmpty ? text : nil
  }

  /// Refuses a type that is encrypted where the server's records have a plain one, or plain where they have an
  /// encrypted one: the schema declares which it is, and the server would reject the change.
  ///
  /// If only queued changes have the field, a plain type over an encrypted one is refused: the server would store a
  /// secret in plain text. An encrypted type over a plain one is accepted.
  ///
  /// - Parameters:
  ///   - fetched: the type that the field has in the server's records; nil if none is known.
  ///   - queued: the types that it has in queued changes.
  package func checkEncryption(fetched: String?, queued: [String] = []) throws(FieldError) {
    guard let type else { return }
    guard let known = fetched.flatMap(WireTypeTag.init) else {
      guard let secret = queued.first(where: type.exposes) else { return }
      throw FieldError(
        field: name,
        "\(name) is \(secret) in queued changes and cannot become \(type); "
          + "\(EncryptedFields.remedy(name, secret)), or discard them first"
      )
    }
    guard (type == type.plain) != (known == known.plain) else { return }
    throw FieldError(
      field: name,
      "\(name) is \(known) on the server and cannot become \(type); write \(name):\(known)=…"
    )
  }

  /// Returns the value for the field, nil to clear it.
  ///
  /// The explicit type counts first, then the field's known type, then the form of the value.
  package func value(knownType: String?) throws(FieldError) -> FieldValue? {
    if text.isEmpty, type == nil || type == .scalar(.asset) { return nil }
    let source = (try? SourceValue(json: Data(text.utf8))) ?? .text(text)
    if type == nil, source == .null { return nil }
    let known = type == nil ? try known(knownType) : nil
    guard let target = type ?? known else {
      let value = try inferred(source)
      return knownType.map(WireTypeTag.isEncrypted) == true ? value.map(FieldValue.encrypted) : value
    }
    if target.plain == .scalar(.string) {
      guard case .text(let string) = source else { return target.marking(.string(text)) }
      return target.marking(.string(string))
    }
    guard let value = try source.read(as: target, field: name) else {
      throw FieldError(
        field: name,
        "\(name) is \(target) and null is no value of it; write \(name)= to clear the field"
      )
    }
    return value
  }

  private func known(_ tag: String?) throws(FieldError) -> WireTypeTag? {
    // The element type of an empty list is unknown, so any list is allowed.
    guard let tag, !WireTypeTag.isUnknownList(tag) else { return nil }
    guard let type = WireTypeTag(tag) else {
      throw FieldError(field: name, "\(name) is of type \(tag), which this version cannot write; leave it out")
    }
    return type
  }

  private func inferred(_ source: SourceValue) throws(FieldError) -> FieldValue? {
    if source.isReference { return .reference(try source.reference(field: name)) }
    if case .object = source {
      throw FieldError(
        field: name,
        "\(name) is an object; say what it is, as in \(name):LOCATION=… or \(name):STRING=…"
      )
    }
    if let problem = source.structuralProblem { throw FieldError(field: name, "\(name) \(problem)") }
    var column = ColumnType()
    _ = column.include(source, line: 1)
    guard let type = column.result.type else { return nil }
    if type == .scalar(.string) {
      guard case .text = source else { return .string(text) }
    }
    return try source.read(as: type, field: name)
  }
}

extension FieldValue {
  /// The value as an assignment takes it, times in local time; nil where it cannot be given as text.
  package func assigned(_ format: Format) -> String? {
    switch self {
    case .string(let text): Self.isReadAsWritten(text) ? text : Self.quoted(text)
    case .int64(let number): String(number)
    case .double(let number): String(number)
    case .bytes(let data): data.base64EncodedString()
    case .timestamp(let milliseconds): format.value(milliseconds)
    case .location(let place):
      place == WireLocation(latitude: place.latitude, longitude: place.longitude)
        ? "\(place.latitude),\(place.longitude)" : Self.encoded(place)
    case .reference(let reference):
      reference.zoneID == nil && ["NONE", nil].contains(reference.action)
        ? reference.recordName : Self.encoded(reference)
    case .list(_, let elements):
      elements.map { $0.assignedInList(format) }.reduce(into: Optional([String]())) { list, text in
        list = text.flatMap { text in list.map { $0 + [text] } }
      }.map { "[" + $0.joined(separator: ", ") + "]" }
    case .encrypted(let value): value.assigned(format)
    case .asset, .other: nil
    }
  }

  private func assignedInList(_ format: Format) -> String? {
    switch self {
    case .int64, .double: assigned(format)
    case .location(let place): Self.encoded(place)
    case .reference(let reference): Self.encoded(reference)
    case .string(let text): Self.quoted(text)
    default: assigned(format).map(Self.quoted)
    }
  }

  /// Whether an assignment takes a text for itself: no JSON text, and not what clears a field.
  private static func isReadAsWritten(_ text: String) -> Bool {
    guard !text.isEmpty else { return false }
    switch try? SourceValue(json: Data(text.utf8)) {
    case .text, .null: return false
    default: return true
    }
  }

  private static func quoted(_ text: String) -> String { encoded(text) ?? text }

  private static func encoded(_ value: some JSONWritable) -> String? {
    (try? value.json()).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension NameRule {
  /// The message for an invalid field name.
  package static func fieldNameProblem(_ name: String) -> String {
    "'\(name.excerpt)' is no field name; use a letter, then letters, digits and _"
  }

  /// The reason why a text cannot be a record type, and the remedy; nil if it can.
  package static func recordTypeProblem(_ name: String, remedy: String = "use a letter, then letters, digits and _")
    -> String?
  {
    isFieldName(name) ? nil : "'\(name.excerpt)' is not a valid record type; \(remedy)"
  }

  /// The message for invalid field names.
  package static func fieldNameProblem(_ names: [String]) -> String {
    if names.count == 1 { return fieldNameProblem(names[0]) }
    let list = Words.list(names.map { "'\($0.excerpt)'" })
    return "\(list) are no field names; use a letter, then letters, digits and _"
  }

  /// The error of a field that refers to a record by a name that none has.
  static func error(ofReference field: String, _ problem: String) -> FieldError {
    FieldError(field: field, "\(field) refers to no record: \(problem)")
  }
}
