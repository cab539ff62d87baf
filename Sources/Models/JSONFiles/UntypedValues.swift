internal import Foundation
internal import JSONText

extension JSON {
  /// The value as `Bool`, `Int`, `Double`, `String`, `[Any]`, `[String: Any]` or `NSNull`.
  var untyped: Any {
    switch self {
    case .null: NSNull()
    case .bool(let value): value
    case .int(let value): Int(value)
    case .double(let value): value
    case .digits(let text): UInt64(text).map { $0 as Any } ?? (Decimal(string: text) ?? .nan)
    case .string(let text): text
    case .array(let elements): elements.map(\.untyped)
    case .object(let object): Dictionary(object.members.map { ($0.key, $0.value.untyped) }) { $1 }
    }
  }

  /// Makes the JSON of an untyped value: an `Encodable` one, or an array or dictionary of them.
  ///
  /// - Throws: ``JSONFileError`` with the path of a value that JSON cannot represent.
  init(untyped value: Any, at path: [any CodingKey]) throws {
    switch UntypedKind(value) {
    case .nothing: self = .null
    case .array(let elements):
      self = .array(try elements.enumerated().map { try JSON(untyped: $1, at: path + [PathKey(intValue: $0)]) })
    case .dictionary(let members):
      let members = members.sorted { $0.key < $1.key }
      self = .object(
        JSONObject(try members.map { ($0.key, try JSON(untyped: $0.value, at: path + [PathKey(stringValue: $0.key)])) })
      )
    case .value(let value as String): self = .string(value)
    case .value(let value as Bool): self = .bool(value)
    case .value(let value as Int): self = .int(Int64(value))
    case .value(let value as Double) where value.isFinite:
      // 3.0 is written as 3, as `JSONEncoder` does.
      self = Int64(exactly: value).map(JSON.int) ?? .double(value)
    case .value(let value):
      do {
        self = try JSON(json: try JSONEncoder().encode(value))
      } catch {
        throw JSONFileError(file: nil, cause: .unsupportedValue(path: path.text))
      }
    case .unsupported: throw JSONFileError(file: nil, cause: .unsupportedValue(path: path.text))
    }
  }
}

/// The kinds of untyped values.
enum UntypedKind {
  case nothing
  case array([Any])
  case dictionary([String: Any])
  case value(any Encodable)
  case unsupported

  init(_ value: Any) {
    let optional = Mirror(reflecting: value)
    switch value {
    case _ where optional.displayStyle == .optional:
      if let wrapped = optional.children.first { self.init(wrapped.value) } else { self = .nothing }
    // It can be cast to every type of number, and to `Bool`.
    case let number as NSNumber where type(of: value) is NSNumber.Type: self = .value(number.typed)
    case is NSNull: self = .nothing
    case let value as [Any]: self = .array(value)
    case let value as [String: Any]: self = .dictionary(value)
    case let value as any Encodable: self = .value(value)
    case let value as NSString: self = .value("\(value)")
    default: self = .unsupported
    }
  }
}

extension NSNumber {
  fileprivate var typed: any Encodable {
    switch objCType.pointee {
    // Only Boolean numbers have this type on Linux. An `Int8` has that of an `Int32`.
    case CChar(UInt8(ascii: "c")): boolValue
    case CChar(UInt8(ascii: "d")), CChar(UInt8(ascii: "f")): doubleValue
    case CChar(UInt8(ascii: "Q")): uint64Value
    default: intValue
    }
  }
}

struct PathKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
}
