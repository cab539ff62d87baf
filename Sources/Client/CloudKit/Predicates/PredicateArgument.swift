internal import CloudKitSchema
internal import Foundation

/// Converts the arguments of a predicate format into values and field names.
enum PredicateArgument {
  /// Returns the name of a system field, or a valid name of another.
  static func fieldName(_ argument: Any) throws(PredicateFailure) -> String {
    guard let name = text(argument) else { throw PredicateFailure("a field's name must be a string") }
    if CKSchema.systemNames[name] != nil { return name }
    guard CKSchema.isName(name) else { throw PredicateFailure("'\(name.prefix(64))' is not a field name") }
    return name
  }

  /// Converts an argument of any supported type; nil for null.
  static func value(_ argument: Any) throws(PredicateFailure) -> FieldValue? {
    guard let argument = Optional<Any>(flattening: argument) else { return nil }
    if let text = text(argument) { return .string(text) }
    switch argument {
    case is NSNull: return nil
    case let value as FieldValue: return value
    case let record as CKRecord: return reference(record.recordID)
    case let recordID as CKRecordID: return reference(recordID)
    case let reference as CKReference: return Self.reference(reference.recordID)
    case let decimal as Decimal: return try value(NSDecimalNumber(decimal: decimal).doubleValue)
    default: break
    }
    if let elements = elements(argument) {
      var values: [FieldValue] = []
      for element in elements {
        guard let value = try value(element) else { throw PredicateFailure("a list contains null") }
        values.append(value)
      }
      return try .list(of: values)
    }
    guard let value = try scalar(argument) else {
      throw PredicateFailure("fields cannot be compared with a \(type(of: argument))")
    }
    return value
  }

  private static func scalar(_ argument: Any) throws(PredicateFailure) -> FieldValue? {
    do {
      switch argument {
      case let native as any CKNativeField: return try native.storedField.wire
      case let integer as any BinaryInteger:
        guard let integer = Int64(exactly: integer) else { throw ConversionFailure.largeInteger }
        return .int64(integer)
      case let number as any BinaryFloatingPoint: return try Double(number).storedField.wire
      default: return try (argument as? NSObject).flatMap { try FieldValue($0) }
      }
    } catch {
      throw PredicateFailure((error as? ConversionFailure ?? ConversionFailure(reason: "")).inPredicate)
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

  private static func reference(_ recordID: CKRecordID) -> FieldValue {
    .reference(WireReference(recordName: recordID.recordName, zoneID: recordID.zoneID.wire, action: nil))
  }

  private static func elements(_ argument: Any) -> [Any]? {
    switch argument {
    case let array as NSArray: array.elements
    case let set as NSSet: set.allObjects
    case let set as NSOrderedSet: set.array
    case let array as [Any]: array
    case let set as Set<AnyHashable>: set.map(\.base)
    default: nil
    }
  }
}

extension StoredField {
  /// The value for a comparison, with references that name their zone; nil for one that cannot be compared.
  package var compared: FieldValue? { wire ?? (try? PredicateArgument.value(object)) }
}

extension FieldValue {
  /// Creates a list of values of one type.
  package static func list(of values: [FieldValue]) throws(PredicateFailure) -> FieldValue {
    guard let list = FieldValue(list: values) else { throw PredicateFailure("a list mixes types or contains lists") }
    return list
  }
}

extension Optional<Any> {
  /// Unwraps optionals that were boxed as `Any`; nil if one of them is nil.
  init(flattening value: Any) {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else {
      self = value
      return
    }
    self = mirror.children.first.flatMap { Optional<Any>(flattening: $0.value) }
  }
}
