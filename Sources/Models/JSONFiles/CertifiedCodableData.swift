internal import Foundation

/// A dictionary of untyped values that can be encoded, and decoded with the same types.
///
/// It keeps `Bool`, `Int`, `Double`, `String`, `Date`, `Data`, `URL`, `UUID`, `NSNull`, and arrays and dictionaries of
/// them. Other types of integers become `Int`, or `UInt64` if they are too large for it, and `Float` becomes `Double`.
public struct CertifiedCodableData: Codable {
  private let values: [String: Value]

  /// The paths of the values that have other types, such as `owner.picture`. They are not in ``dictionary``, and
  /// encoding them is an error.
  public let unsupported: [String]

  /// The dictionary.
  public var dictionary: [String: Any] { values.mapValues(\.untyped) }

  /// Takes the values of a dictionary.
  public init(_ originalData: [String: Any]) {
    var unsupported: [String] = []
    values = Value.members(originalData, at: [], &unsupported)
    self.unsupported = unsupported.sorted()
  }

  /// Decodes the values with their types.
  public init(from decoder: any Decoder) throws {
    values = try decoder.singleValueContainer().decode([String: Value].self)
    unsupported = []
  }

  /// Encodes each value as an object with its type, such as `{"title": {"string": {"_0": "Milk"}}}`.
  ///
  /// - Throws: `EncodingError` if there are values of ``unsupported`` types.
  public func encode(to encoder: any Encoder) throws {
    if let path = unsupported.first {
      let text = "The value for \(path) has a type that cannot be encoded."
      throw EncodingError.invalidValue(path, .init(codingPath: [PathKey(stringValue: path)], debugDescription: text))
    }
    var container = encoder.singleValueContainer()
    try container.encode(values)
  }
}

/// A value with its type, which is encoded too.
private indirect enum Value: Codable {
  case null
  case bool(Bool)
  case int(Int)
  case unsigned(UInt64)
  case double(Double)
  case string(String)
  case date(Date)
  case data(Data)
  case url(URL)
  case uuid(UUID)
  case array([Value])
  case dictionary([String: Value])

  init?(_ value: Any, at path: [any CodingKey], _ unsupported: inout [String]) {
    switch UntypedKind(value) {
    case .nothing: self = .null
    case .array(let elements):
      self = .array(
        elements.enumerated().compactMap { Value($1, at: path + [PathKey(intValue: $0)], &unsupported) }
      )
    case .dictionary(let members): self = .dictionary(Self.members(members, at: path, &unsupported))
    case .value(let value):
      guard let value = Value(value) else {
        unsupported.append(path.text)
        return nil
      }
      self = value
    case .unsupported:
      unsupported.append(path.text)
      return nil
    }
  }

  private init?(_ value: any Encodable) {
    switch value {
    case let value as Bool: self = .bool(value)
    case let value as any BinaryInteger:
      if let number = Int(exactly: value) {
        self = .int(number)
      } else if let number = UInt64(exactly: value) {
        self = .unsigned(number)
      } else {
        return nil
      }
    case let value as Double: self = .double(value)
    case let value as Float: self = .double(Double(value))
    case let value as String: self = .string(value)
    case let value as Date: self = .date(value)
    case let value as Data: self = .data(value)
    case let value as URL: self = .url(value)
    case let value as UUID: self = .uuid(value)
    default: return nil
    }
  }

  static func members(
    _ members: [String: Any],
    at path: [any CodingKey],
    _ unsupported: inout [String]
  ) -> [String: Value] {
    var values: [String: Value] = [:]
    for (key, value) in members { values[key] = Value(value, at: path + [PathKey(stringValue: key)], &unsupported) }
    return values
  }

  var untyped: Any {
    switch self {
    case .null: NSNull()
    case .bool(let value): value
    case .int(let value): value
    case .unsigned(let value): value
    case .double(let value): value
    case .string(let value): value
    case .date(let value): value
    case .data(let value): value
    case .url(let value): value
    case .uuid(let value): value
    case .array(let elements): elements.map(\.untyped)
    case .dictionary(let members): members.mapValues(\.untyped)
    }
  }
}
