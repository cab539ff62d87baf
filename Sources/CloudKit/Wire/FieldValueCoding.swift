import Foundation

/// `{"value": …, "type": "…"}`: always written with its type, read leniently (numbers as text, type absent).
extension FieldValue: Codable {
  private enum Key: String, CodingKey {
    case value
    case type
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let type = try container.decodeIfPresent(String.self, forKey: .type)
    switch type {
    case nil: self = try Self.inferred(try container.decode(JSONValue.self, forKey: .value))
    case "ASSET": self = .asset(try container.decode(WireAsset.self, forKey: .value))
    case "LIST": self = try Self.inferred(try container.decode(JSONValue.self, forKey: .value))
    case .some(let tag):
      if let scalar = FieldType(rawValue: tag), scalar != .unknown {
        self = try Self.scalar(scalar, container)
      } else if tag.hasSuffix("_LIST"), let element = Self.elementType(ofListTag: tag) {
        self = .list(element, try Self.elements(element, container))
      } else {
        self = .other(type: tag, try container.decode(JSONValue.self, forKey: .value))
      }
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(Bare(self), forKey: .value)
    if case .list(.unknown, _) = self { return }
    try container.encode(wireType, forKey: .type)
  }

  private static func elementType(ofListTag tag: String) -> FieldType? {
    let name = String(tag.dropLast("_LIST".count))
    return name == "ASSET" ? .asset : FieldType(rawValue: name)
  }

  private static func scalar(_ type: FieldType, _ container: KeyedDecodingContainer<Key>) throws -> FieldValue {
    switch type {
    case .string: .string(try container.decode(String.self, forKey: .value))
    case .int64: .int64(try container.decode(LenientInt.self, forKey: .value).value)
    case .double: .double(try container.decode(LenientDouble.self, forKey: .value).value)
    case .bytes: .bytes(try container.decode(Base64.self, forKey: .value).data)
    case .timestamp: .timestamp(try container.decode(LenientInt.self, forKey: .value).value)
    case .location: .location(try container.decode(WireLocation.self, forKey: .value))
    case .reference: .reference(try container.decode(WireReference.self, forKey: .value))
    case .asset: .asset(try container.decode(WireAsset.self, forKey: .value))
    case .unknown: try inferred(try container.decode(JSONValue.self, forKey: .value))
    }
  }

  private static func elements(_ type: FieldType, _ container: KeyedDecodingContainer<Key>) throws -> [FieldValue] {
    switch type {
    case .string: try container.decode([String].self, forKey: .value).map(FieldValue.string)
    case .int64: try container.decode([LenientInt].self, forKey: .value).map { .int64($0.value) }
    case .double: try container.decode([LenientDouble].self, forKey: .value).map { .double($0.value) }
    case .bytes: try container.decode([Base64].self, forKey: .value).map { .bytes($0.data) }
    case .timestamp: try container.decode([LenientInt].self, forKey: .value).map { .timestamp($0.value) }
    case .location: try container.decode([WireLocation].self, forKey: .value).map(FieldValue.location)
    case .reference: try container.decode([WireReference].self, forKey: .value).map(FieldValue.reference)
    case .asset: try container.decode([WireAsset].self, forKey: .value).map(FieldValue.asset)
    case .unknown: try container.decode([JSONValue].self, forKey: .value).map(inferred)
    }
  }

  /// What the server infers from untagged JSON: string, number, list of those, object by its keys.
  private static func inferred(_ json: JSONValue) throws -> FieldValue {
    switch json {
    case .string(let value): return .string(value)
    case .int(let value): return .int64(value)
    case .double(let value): return .double(value)
    case .bool(let value): return .int64(value ? 1 : 0)
    case .array(let values):
      let elements = try values.map(inferred)
      guard let first = elements.first else { return .list(.unknown, []) }
      return .list(FieldType(rawValue: first.wireType) ?? .unknown, elements)
    case .object(let object):
      let data = try JSONEncoder().encode(json)
      if object["recordName"] != nil { return .reference(try JSONDecoder().decode(WireReference.self, from: data)) }
      if object["latitude"] != nil { return .location(try JSONDecoder().decode(WireLocation.self, from: data)) }
      if object["fileChecksum"] != nil { return .asset(try JSONDecoder().decode(WireAsset.self, from: data)) }
      return .other(type: "UNKNOWN", json)
    case .null: return .other(type: "UNKNOWN", .null)
    }
  }
}

/// The value without its type tag, as it stands inside `value` and inside lists.
private struct Bare: Encodable {
  let field: FieldValue

  init(_ field: FieldValue) { self.field = field }

  func encode(to encoder: any Encoder) throws {
    switch field {
    case .list(_, let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(Bare(element)) }
    case .string(let value): try single(value, encoder)
    case .int64(let value): try single(value, encoder)
    case .double(let value): try single(value, encoder)
    case .bytes(let value): try single(value.base64EncodedString(), encoder)
    case .timestamp(let value): try single(value, encoder)
    case .location(let value): try value.encode(to: encoder)
    case .reference(let value): try value.encode(to: encoder)
    case .asset(let value): try value.encode(to: encoder)
    case .other(_, let value): try value.encode(to: encoder)
    }
  }

  private func single(_ value: some Encodable, _ encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}

/// An integer that may arrive as a number or, with `numbersAsStrings`, as text.
struct LenientInt: Decodable {
  let value: Int64

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int64.self) {
      value = number
    } else if let text = try? container.decode(String.self), let number = Int64(text) {
      value = number
    } else if let number = try? container.decode(Double.self), let exact = Int64(exactly: number) {
      value = exact
    } else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a whole number")
    }
  }
}

/// A floating-point number that may arrive as a number or as text.
struct LenientDouble: Decodable {
  let value: Double

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Double.self) {
      value = number
    } else if let text = try? container.decode(String.self), let number = Double(text), number.isFinite {
      value = number
    } else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a number")
    }
  }
}

private struct Base64: Decodable {
  let data: Data

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let data = Data(base64Encoded: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not base64")
    }
    self.data = data
  }
}
