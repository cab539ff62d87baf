package import CloudKit

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

  /// Parses an argument; the value is converted when the field's type is known.
  package init(parsing argument: String) throws(FieldError) {
    guard let equals = argument.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      throw FieldError(field: nil, "'\(argument)' sets no field; write FIELD=VALUE, or FIELD= to clear one")
    }
    let target = argument[..<equals]
    let colon = target.utf8.firstIndex(of: UInt8(ascii: ":"))
    name = String(target[..<(colon ?? target.endIndex)])
    text = String(argument[argument.utf8.index(after: equals)...])
    guard NameRule.isFieldName(name) else { throw FieldError(field: name, NameRule.fieldNameProblem(name)) }
    guard let colon else {
      type = nil
      return
    }
    let written = String(target[target.utf8.index(after: colon)...])
    let tag = WireTypeTag(written.uppercased())
    guard let tag, tag == .scalar(.asset) || WireTypeTag.writable.contains(tag.description) else {
      let known = (WireTypeTag.writable + [FieldType.asset.rawValue]).joined(separator: ", ")
      throw FieldError(field: name, "\(name) cannot be given the type '\(written)'; write one of \(known)")
    }
    type = tag
  }

  /// The path of an asset's file; nil if the field has another type, or is cleared.
  package func assetPath(knownType: String?) -> String? {
    let target = type ?? knownType.flatMap(WireTypeTag.init)
    return target == .scalar(.asset) && !text.isEmpty ? text : nil
  }

  /// Returns the value for the field, nil to clear it.
  ///
  /// The explicit type counts first, then the field's known type, then the form of the value.
  package func value(knownType: String?) throws(FieldError) -> FieldValue? {
    if text.isEmpty, type == nil || type == .scalar(.asset) { return nil }
    let source = (try? JSONReader.value(Array(text.utf8))) ?? .text(text)
    if type == nil, source == .null { return nil }
    let known = type == nil ? try known(knownType) : nil
    guard let target = type ?? known else { return try inferred(source) }
    if target == .scalar(.string) {
      guard case .text(let string) = source else { return .string(text) }
      return .string(string)
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
    guard let tag, tag != "UNKNOWN_LIST" else { return nil }
    guard let type = WireTypeTag(tag) else {
      throw FieldError(field: name, "\(name) is of type \(tag), which this version cannot write; leave it out")
    }
    return type
  }

  private func inferred(_ source: SourceValue) throws(FieldError) -> FieldValue? {
    if case .object = source {
      throw FieldError(
        field: name,
        "\(name) is an object; say what it is, as in \(name):LOCATION=… or \(name):STRING=…"
      )
    }
    if let problem = source.structuralProblem { throw FieldError(field: name, "\(name) \(problem)") }
    var column = ColumnType()
    _ = column.include(source)
    guard let type = column.result else { return nil }
    if type == .scalar(.string) {
      guard case .text = source else { return .string(text) }
    }
    return try source.read(as: type, field: name)
  }
}

extension NameRule {
  /// The message for an invalid field name.
  package static func fieldNameProblem(_ name: String) -> String {
    "'\(name)' is no field name; use a letter, then letters, digits and _"
  }
}
