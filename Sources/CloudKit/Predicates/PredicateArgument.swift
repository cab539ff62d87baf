internal import Foundation

/// Converts the arguments of a predicate format into values and field names.
enum PredicateArgument {
  /// Returns a validated field name: a letter, then letters, digits and underscores.
  static func fieldName(_ argument: Any) throws(PredicateFailure) -> String {
    guard let name = text(argument) else { throw PredicateFailure("a field's name must be a string") }
    if WireFieldName.system[name] != nil { return name }
    let isName = name.utf8.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
    guard isName, name.utf8.first?.isLetter == true else {
      throw PredicateFailure("'\(name.prefix(64))' is not a field name")
    }
    return name
  }

  /// Converts an argument of any supported type; nil for null.
  static func value(_ argument: Any) throws(PredicateFailure) -> FieldValue? {
    let mirror = Mirror(reflecting: argument)
    if mirror.displayStyle == .optional {
      guard let some = mirror.children.first else { return nil }
      return try value(some.value)
    }
    if let text = text(argument) { return .string(text) }
    switch argument {
    case is NSNull: return nil
    case let value as FieldValue: return value
    case let number as NSNumber: return try value(of: number)
    case let flag as Bool: return .int64(flag ? 1 : 0)
    case let integer as any BinaryInteger:
      guard let integer = Int64(exactly: integer) else { throw tooLarge }
      return .int64(integer)
    case let number as any BinaryFloatingPoint: return try double(Double(number))
    case let decimal as Decimal: return try double(NSDecimalNumber(decimal: decimal).doubleValue)
    case let date as Date: return try timestamp(date.timeIntervalSince1970)
    case let date as NSDate: return try timestamp(date.timeIntervalSince1970)
    case let data as Data: return .bytes(data)
    case let data as NSData: return .bytes(Data(referencing: data))
    case let id as UUID: return .string(id.uuidString)
    case let id as NSUUID: return .string(id.uuidString)
    case let location as CLLocation:
      guard let wire = try? location.wire(key: "") else {
        throw PredicateFailure("a location has no finite coordinates")
      }
      return .location(wire)
    case let record as CKRecord: return reference(record.recordID)
    case let recordID as CKRecordID: return reference(recordID)
    case let reference as CKReference: return Self.reference(reference.recordID)
    default:
      guard let elements = elements(argument, mirror) else {
        throw PredicateFailure("fields cannot be compared with a \(type(of: argument))")
      }
      var values: [FieldValue] = []
      for element in elements {
        guard let value = try value(element) else { throw PredicateFailure("a list contains null") }
        values.append(value)
      }
      return try .list(of: values)
    }
  }

  /// Converts an argument for `%d` and similar placeholders.
  static func integer(_ argument: Any) throws(PredicateFailure) -> FieldValue {
    switch argument {
    case let scalar as Unicode.Scalar: return .int64(Int64(scalar.value))
    default:
      guard case .int64(let integer)? = try? value(argument) else {
        throw PredicateFailure("a \(type(of: argument)) is not a 64-bit integer")
      }
      return .int64(integer)
    }
  }

  /// Converts an argument for `%f` and similar placeholders.
  static func real(_ argument: Any) throws(PredicateFailure) -> FieldValue {
    switch try? value(argument) {
    case .double(let number): return .double(number)
    case .int64(let integer): return .double(Double(integer))
    default: throw PredicateFailure("a \(type(of: argument)) is not a finite number")
    }
  }

  /// Converts an argument for `%s`.
  static func cString(_ argument: Any) throws(PredicateFailure) -> FieldValue {
    switch argument {
    case let pointer as UnsafePointer<CChar>: return .string(String(cString: pointer))
    case let pointer as UnsafeMutablePointer<CChar>: return .string(String(cString: pointer))
    default:
      guard let text = text(argument) else { throw PredicateFailure("a \(type(of: argument)) is not a C string") }
      return .string(text)
    }
  }

  private static func text(_ argument: Any) -> String? {
    switch argument {
    case let text as String: text
    case let text as Substring: String(text)
    case let text as NSString: String(describing: text)
    default: nil
    }
  }

  private static let tooLarge = PredicateFailure("a number does not fit into a signed integer of 64 bits")

  private static func value(of number: NSNumber) throws(PredicateFailure) -> FieldValue {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return try double(number.doubleValue)
    case UInt8(ascii: "Q"):
      guard let integer = Int64(exactly: number.uint64Value) else { throw tooLarge }
      return .int64(integer)
    default: return .int64(number.int64Value)
    }
  }

  private static func double(_ number: Double) throws(PredicateFailure) -> FieldValue {
    guard number.isFinite else { throw PredicateFailure("a number is not finite") }
    return .double(number)
  }

  private static func timestamp(_ seconds: Double) throws(PredicateFailure) -> FieldValue {
    guard let milliseconds = Milliseconds.since1970(seconds) else { throw PredicateFailure("a date is out of range") }
    return .timestamp(milliseconds)
  }

  private static func reference(_ recordID: CKRecordID) -> FieldValue {
    .reference(WireReference(recordName: recordID.recordName, zoneID: recordID.zoneID.wire, action: nil))
  }

  private static func elements(_ argument: Any, _ mirror: Mirror) -> [Any]? {
    switch argument {
    case let array as NSArray: array.map { $0 }
    case let set as NSSet: set.allObjects
    case let set as NSOrderedSet: set.array
    case let array as [Any]: array
    default: mirror.displayStyle == .set ? mirror.children.map(\.value) : nil
    }
  }
}

extension FieldValue {
  /// Creates a list of values of one type. Integers in a list with floating-point numbers become floating-point
  /// numbers.
  static func list(of values: [FieldValue]) throws(PredicateFailure) -> FieldValue {
    guard !values.isEmpty else { return .list(.unknown, []) }
    var values = values
    if values.contains(where: { $0.wireType == FieldType.double.rawValue }) {
      values = values.map { if case .int64(let integer) = $0 { .double(Double(integer)) } else { $0 } }
    }
    guard let type = FieldType(rawValue: values[0].wireType), values.allSatisfy({ $0.wireType == type.rawValue }) else {
      throw PredicateFailure("a list mixes types or contains lists")
    }
    return .list(type, values)
  }
}

extension UInt8 {
  fileprivate var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
  fileprivate var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }
}
