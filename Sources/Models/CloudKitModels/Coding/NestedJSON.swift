internal import Foundation

/// Encodes values with containers, which a field stores as JSON or as a property list.
enum NestedJSON {
  /// Encodes with sorted keys, so that equal values are equal bytes and are not saved again.
  static func encode(_ value: some Encodable, at path: [any CodingKey]) throws -> Data {
    do {
      return switch (value as? any CKFormattedContent).map({ type(of: $0).contentFormat }) {
      case .xmlPropertyList: try propertyList(value, .xml)
      case .binaryPropertyList: try propertyList(value, .binary)
      case .json, nil: try json(value)
      }
    } catch let error as EncodingError {
      throw error.within(path)
    }
  }

  private static func json(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }

  private static func propertyList(
    _ value: some Encodable,
    _ format: PropertyListSerialization.PropertyListFormat
  ) throws -> Data {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = format
    return try encoder.encode(value)
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from data: Data, at path: [any CodingKey]) throws -> Value {
    do {
      // Files of other programs may be property lists. JSON never begins like one.
      let isPropertyList = ["bplist", "<?xml"].contains { data.starts(with: $0.utf8) }
      return isPropertyList
        ? try PropertyListDecoder().decode(type, from: data) : try JSONDecoder().decode(type, from: data)
    } catch let error as DecodingError {
      throw error.within(path)
    }
  }
}

extension EncodingError {
  /// Returns the error with its coding path from the root of the record instead of the JSON.
  fileprivate func within(_ path: [any CodingKey]) -> EncodingError {
    switch self {
    case .invalidValue(let value, let context): .invalidValue(value, context.within(path))
    @unknown default: self
    }
  }
}

extension DecodingError {
  fileprivate func within(_ path: [any CodingKey]) -> DecodingError {
    switch self {
    case .typeMismatch(let type, let context): .typeMismatch(type, context.within(path))
    case .valueNotFound(let type, let context): .valueNotFound(type, context.within(path))
    case .keyNotFound(let key, let context): .keyNotFound(key, context.within(path))
    case .dataCorrupted(let context): .dataCorrupted(context.within(path))
    @unknown default: self
    }
  }
}

extension EncodingError.Context {
  fileprivate func within(_ path: [any CodingKey]) -> Self {
    Self(codingPath: path + codingPath, debugDescription: debugDescription, underlyingError: underlyingError)
  }
}

extension DecodingError.Context {
  fileprivate func within(_ path: [any CodingKey]) -> Self {
    Self(codingPath: path + codingPath, debugDescription: debugDescription, underlyingError: underlyingError)
  }
}
