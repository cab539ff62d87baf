internal import Foundation
package import JSONText

/// The encoding `{"value": …, "type": "…"}`. It is always written with its type. Decoding is lenient: numbers may be
/// strings, and the type may be missing.
extension FieldValue: JSONReadable {
  package init(json: inout JSONReader) throws(JSONError) {
    let start = json.offset
    guard let value = try Self.optional(json: &json) else { throw json.failure("a field without a value", at: start) }
    self = value
  }

  /// Decodes a field; nil if it is null in one of the server's forms: `null`, `{}`, `{"value": null}`.
  package static func optional(json: inout JSONReader) throws(JSONError) -> FieldValue? {
    if try json.null() { return nil }
    var type: String?
    var value: Int?
    var isEncrypted: Bool?
    try json.enterObject()
    while let key = try json.nextKey() {
      switch key {
      case "type": try json.read(into: &type)
      case "isEncrypted": try json.read(into: &isEncrypted)
      case "value":
        let start = json.offset
        let isNull = try json.null()
        value = isNull ? nil : start
        if !isNull { try json.skip() }
      default: try json.skip()
      }
    }
    guard let value else { return nil }
    // The value is decoded last, because its type may come after it.
    let end = json.offset
    json.offset = value
    var tag = type.flatMap(WireTypeTag.init)
    // Most encrypted types have no such tag, but `isEncrypted`.
    if case .encrypted(let plain)? = tag { (type, tag, isEncrypted) = (plain.description, plain, true) }
    let field = try tagged(type, tag, &json)
    json.offset = end
    return isEncrypted == true ? .encrypted(field) : field
  }

  /// The name of the known type that the value was sent with and does not fit; nil for any other value.
  var misfitType: String? {
    switch self {
    case .other(let type, _): WireTypeTag(type) == nil ? nil : type
    case .encrypted(let value): value.misfitType
    default: nil
    }
  }

  /// - Parameter tag: The type, if it is known.
  private static func tagged(
    _ type: String?,
    _ tag: WireTypeTag?,
    _ json: inout JSONReader
  ) throws(JSONError) -> FieldValue {
    let start = json
    do throws(JSONError) {
      if let tag, let value = try known(tag, &json) { return value }
    } catch {
      // A value that does not match its type is kept unchanged, so that one field does not fail a page of records. It
      // fails its record (`misfitType`).
      json = start
    }
    var value = try JSON(json: &json).sorted
    // As stores have it: 1.0 and 1 are the same value.
    if case .double(let number) = value, let whole = Int64(exactly: number) { value = .int(whole) }
    guard type == nil || type == "LIST" || type == WireTypeTag.unknownList else {
      return .other(type: type ?? "", value)
    }
    return FieldValue(inferredFrom: value) ?? .other(type: type ?? FieldType.unknown.rawValue, value)
  }

  /// Decodes the value of a plain type.
  private static func known(_ tag: WireTypeTag, _ json: inout JSONReader) throws(JSONError) -> FieldValue? {
    switch tag {
    case .scalar(let type): return try type.value(&json)
    case .list(let element):
      var elements: [FieldValue] = []
      try json.enterArray()
      while try json.nextElement() { elements.append(try element.value(&json)) }
      return .list(element, elements)
    case .encrypted: return nil
    }
  }

  /// Infers a type from untagged JSON as the server does (reference 3.1): a string, a number, a list of one of these,
  /// or an object by its keys. Nil if the server could not infer it either.
  private init?(inferredFrom json: JSON) {
    switch json {
    case .string(let value): self = .string(value)
    case .int(let value): self = .int64(value)
    // 2.0 is a whole number too.
    case .double(let value): self = Int64(exactly: value).map(FieldValue.int64) ?? .double(value)
    case .bool(let value): self = .int64(value ? 1 : 0)
    case .array(let values):
      let elements = values.compactMap(FieldValue.init(inferredFrom:))
      let types = Set(elements.map(\.wireType))
      guard elements.count == values.count, types.count <= 1 else { return nil }
      guard let type = types.first else {
        self = .list(.unknown, [])
        return
      }
      guard let type = FieldType(wireTag: type) else { return nil }
      self = .list(type, elements)
    case .object(let object):
      guard let document = try? json.json() else { return nil }
      if object["recordName"] != nil, let reference = try? WireReference(json: document) {
        self = .reference(reference)
      } else if object["latitude"] != nil, let location = try? WireLocation(json: document) {
        self = .location(location)
      } else if object["fileChecksum"] != nil, let asset = try? WireAsset(json: document) {
        self = .asset(asset)
      } else {
        return nil
      }
    case .null, .digits: return nil
    }
  }
}

extension FieldType {
  /// Decodes a value of this type without its tag.
  fileprivate func value(_ json: inout JSONReader) throws(JSONError) -> FieldValue {
    switch self {
    case .string: return .string(try json.string())
    case .int64: return .int64(try json.int64())
    case .double: return .double(try json.double())
    case .timestamp: return .timestamp(try json.roundedInt64())
    case .location: return .location(try WireLocation(json: &json))
    case .reference: return .reference(try WireReference(json: &json))
    case .asset: return .asset(try WireAsset(json: &json))
    case .bytes:
      let start = json.offset
      guard let data = Data(lenientBase64: try json.string()) else { throw json.failure("invalid Base64", at: start) }
      return .bytes(data)
    case .unknown: throw json.failure("a type without values")
    }
  }
}

extension Data {
  /// Decodes Base64 that may be broken into lines and may lack its padding.
  fileprivate init?(lenientBase64 text: String) {
    if let data = Data(base64Encoded: text) {
      self = data
      return
    }
    var digits = text.filter { !$0.isWhitespace }
    digits += String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
    self.init(base64Encoded: digits)
  }
}

extension FieldValue: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.beginObject()
    switch self {
    // The tag of an empty list of unknown elements is used only in replies.
    case .list(.unknown, _): break
    case .encrypted(.bytes): json.member("type", wireType)
    case .encrypted(let value):
      json.key("isEncrypted")
      json.bool(true)
      json.member("type", value.wireType)
    default: json.member("type", wireType)
    }
    json.key("value")
    writeBare(to: &json)
    json.endObject()
  }

  /// Writes the value without its type, as in `value` and in lists.
  private func writeBare(to json: inout JSONWriter) {
    switch self {
    case .string(let value): json.string(value)
    case .int64(let value), .timestamp(let value): json.int64(value)
    case .double(let value): json.double(value)
    case .bytes(let value): json.string(value.base64EncodedString())
    case .location(let value): value.write(to: &json)
    case .reference(let value): value.write(to: &json)
    case .asset(let value): value.write(to: &json)
    case .list(_, let elements):
      json.beginArray()
      for element in elements { element.writeBare(to: &json) }
      json.endArray()
    case .encrypted(let value): value.writeBare(to: &json)
    case .other(_, let value): value.write(to: &json)
    }
  }
}
