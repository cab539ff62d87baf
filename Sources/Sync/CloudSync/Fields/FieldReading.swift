package import CloudKit
import Facts
import Foundation
import JSONText

extension SourceValue {
  /// Converts this value to a field of a known type; nil if it is no value.
  ///
  /// All conversions are defined here. Numbers and Booleans widen, nothing is guessed from text.
  package func read(as type: WireTypeTag, field: String) throws(FieldError) -> FieldValue? {
    switch (type, self) {
    case (_, .null): return nil
    case (.encrypted(let plain), _): return try read(as: plain, field: field).map(FieldValue.encrypted)
    case (.scalar(.string), .emptyCell): return .string("")
    case (_, .emptyCell): return nil
    case (.scalar(let scalar), _): return try readScalar(as: scalar, field: field)
    case (.list(let element), .list(let values)):
      var elements: [FieldValue] = []
      for value in values {
        guard let read = try value.read(as: .scalar(element), field: field) else {
          throw FieldError(field: field, "\(field) is \(type) and a list holds no null; leave it out")
        }
        elements.append(read)
      }
      return .list(element, elements)
    // A table cell can hold a list only as text.
    case (.list, .text):
      guard let list else { fallthrough }
      return try list.read(as: type, field: field)
    case (.list, _): throw mismatch(type, field, "give a JSON list, such as [1, 2]")
    }
  }

  private func readScalar(as type: FieldType, field: String) throws(FieldError) -> FieldValue {
    let tag = WireTypeTag.scalar(type)
    switch type {
    case .string:
      guard let text else { throw mismatch(tag, field, "give a text") }
      return .string(text)
    case .int64:
      guard let number = integer ?? wholeNumber else {
        throw mismatch(tag, field, "give a whole number below 2^63")
      }
      return .int64(number)
    case .double:
      guard let number = double else {
        let isNumber = if case .number = self { true } else { false }
        let sizes = isNumber ? " of a size from 4.9e-324 to 1.79e308" : ""
        throw mismatch(tag, field, "give a number\(sizes)")
      }
      return .double(number)
    case .bytes:
      guard case .text(let text) = self, let data = Data(base64Encoded: text) else {
        throw mismatch(tag, field, "give the bytes in base64")
      }
      return .bytes(data)
    case .timestamp:
      if case .number = self, let integer { return .timestamp(integer) }
      guard case .text(let text) = self, let time = RFC3339.milliseconds(text) else {
        throw mismatch(tag, field, "give a time such as 2026-01-31T12:00:00Z, or milliseconds since 1970")
      }
      return .timestamp(time)
    case .location:
      guard let location = location else {
        throw mismatch(tag, field, "give latitude,longitude in degrees, such as 52.52,13.40")
      }
      return .location(location)
    case .reference: return .reference(try reference(field: field))
    case .asset, .unknown:
      throw FieldError(field: field, "\(field) is \(tag), which cannot be given as text; leave it out")
    }
  }

  /// A finite number, from a number or a Boolean.
  var double: Double? {
    switch self {
    case .bool(let value): return value ? 1 : 0
    case .number(let digits): return Double(decimal: digits)
    default: return nil
    }
  }

  /// The integer that a number with a point or an exponent is, by its digits: as a floating-point number it might have
  /// become another.
  private var wholeNumber: Int64? {
    guard case .number(let text) = self else { return nil }
    return JSONNumber.read(text) { $0.int64 }
  }

  private static let referenceKeys: Set<String> = ["recordName", "action", "zoneID"]

  /// Whether it is an object that only a reference has.
  var isReference: Bool {
    guard case .object(let parts, _) = self, parts["recordName"] != nil else { return false }
    return Self.referenceKeys.isSuperset(of: parts.keys)
  }

  /// A reference by record name. It has an action and a zone only where an object says them: what is left out is that
  /// of the field when the change is accepted.
  func reference(field: String) throws(FieldError) -> WireReference {
    var reference: WireReference
    switch self {
    // A table cell can hold a list only as text.
    case .text where list != nil:
      throw FieldError(field: field, "\(field) is REFERENCE and this value is a list; give the name of a record")
    // A table cell can hold an object only as text.
    case .text(let text) where text.hasPrefix("{"):
      guard let object = try? SourceValue(json: Data(text.utf8)), case .object = object else {
        throw FieldError(field: field, "\(field) is REFERENCE and this value is no object of one; check its JSON")
      }
      return try object.reference(field: field)
    case .text(let name): reference = WireReference(recordName: name, action: nil)
    // A table cannot distinguish a number from a name that looks like one.
    case .number(let digits): reference = WireReference(recordName: digits, action: nil)
    case .object(let parts, let source):
      if let unknown = Set(parts.keys).subtracting(Self.referenceKeys).min() {
        throw FieldError(field: field, "\(field) has the key '\(unknown.excerpt)'; use recordName, action and zoneID")
      }
      guard let decoded = try? WireReference(json: Data(source.utf8)) else {
        throw FieldError(field: field, "\(field) needs a recordName, such as {\"recordName\": \"t1\"}; check its JSON")
      }
      reference = decoded
      guard [nil, "NONE", "DELETE_SELF", "VALIDATE"].contains(reference.action) else {
        throw FieldError(field: field, "\(field) has an unknown action; use NONE, DELETE_SELF or VALIDATE")
      }
    default: throw mismatch(.scalar(.reference), field, "give the name of a record")
    }
    if let problem = NameRule.certain.recordNameProblem(reference.recordName, mayBeUser: true) {
      throw NameRule.error(ofReference: field, problem)
    }
    return reference
  }

  private var location: WireLocation? {
    var location: WireLocation
    switch self {
    case .text(let text):
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Self.plain($0.trimmingSpaces) }
      guard parts.count == 2, let latitude = parts[0].double, let longitude = parts[1].double else { return nil }
      location = WireLocation(latitude: latitude, longitude: longitude)
    case .object(_, let source):
      guard let decoded = try? WireLocation(json: Data(source.utf8)) else { return nil }
      location = decoded
    default: return nil
    }
    guard abs(location.latitude) <= 90, abs(location.longitude) <= 180 else { return nil }
    return location
  }

  private func mismatch(_ type: WireTypeTag, _ field: String, _ remedy: String) -> FieldError {
    // A text of the right type may be malformed; then the message does not name two types.
    let isMalformed: Bool =
      switch (type, self) {
      case (.scalar(.bytes), .text), (.scalar(.timestamp), .text), (.scalar(.location), .text): true
      case (.scalar(.double), .number): true
      case (.scalar(.int64), .number): integer == nil && !isFraction
      default: false
      }
    let what = isMalformed ? "this value is not one" : "this value is \(naturalType)"
    return FieldError(field: field, "\(field) is \(type) and \(what); \(remedy)")
  }

  /// Whether it is a number with a point or an exponent.
  var isFraction: Bool {
    guard case .number(let digits) = self else { return false }
    return digits.utf8.contains { !$0.isDigit && $0 != UInt8(ascii: "-") }
  }
}

extension Substring {
  fileprivate var trimmingSpaces: String { String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
}
