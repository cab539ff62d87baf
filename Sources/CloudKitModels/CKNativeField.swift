internal import CloudKit
public import Foundation

/// A type that the code of `@CKModel` reads from fields and writes to them directly, without `Codable`.
///
/// Both conversions are nil for what they do not handle. `FieldContent` and `FieldDecoder` then convert the value, or
/// throw the error that explains why it does not fit. The result is always the one that they return.
public protocol CKNativeField: Codable {
  /// The value of a field; nil if `FieldContent` has to encode it.
  var nativeValue: CKNativeValue? { get }

  /// Returns the value of a field as this type; nil if `FieldDecoder` has to decode it.
  static func read(_ native: CKNativeValue) -> Self?
}

/// The value of a field in a record.
public struct CKNativeValue {
  let value: FieldValue

  init(_ value: FieldValue) { self.value = value }
}

extension String: CKNativeField {
  /// The text.
  public var nativeValue: CKNativeValue? { CKNativeValue(.string(self)) }

  /// Returns the text of a string.
  public static func read(_ native: CKNativeValue) -> String? {
    if case .string(let text) = native.value { text } else { nil }
  }
}

extension Bool: CKNativeField {
  /// 1 or 0.
  public var nativeValue: CKNativeValue? { CKNativeValue(.int64(self ? 1 : 0)) }

  /// Returns whether a number is 1; nil if it is neither 0 nor 1.
  public static func read(_ native: CKNativeValue) -> Bool? {
    switch native.value {
    case .int64(0): false
    case .int64(1): true
    default: nil
    }
  }
}

extension CKNativeField where Self: FixedWidthInteger {
  /// The number; nil if it does not fit into a signed integer of 64 bits.
  public var nativeValue: CKNativeValue? { Int64(exactly: self).map { CKNativeValue(.int64($0)) } }

  /// Returns an integer; nil if it does not fit.
  public static func read(_ native: CKNativeValue) -> Self? {
    if case .int64(let number) = native.value { Self(exactly: number) } else { nil }
  }
}

extension Int: CKNativeField {}
extension Int8: CKNativeField {}
extension Int16: CKNativeField {}
extension Int32: CKNativeField {}
extension Int64: CKNativeField {}
extension UInt: CKNativeField {}
extension UInt8: CKNativeField {}
extension UInt16: CKNativeField {}
extension UInt32: CKNativeField {}
extension UInt64: CKNativeField {}

extension Double: CKNativeField {
  /// The number; nil if it is not finite.
  public var nativeValue: CKNativeValue? { isFinite ? CKNativeValue(.double(self)) : nil }

  /// Returns a floating-point number.
  public static func read(_ native: CKNativeValue) -> Double? {
    if case .double(let number) = native.value { number } else { nil }
  }
}

extension Date: CKNativeField {
  /// The time in whole milliseconds; nil if it is out of range.
  public var nativeValue: CKNativeValue? {
    Milliseconds.since1970(timeIntervalSince1970).map { CKNativeValue(.timestamp($0)) }
  }

  /// Returns a time.
  public static func read(_ native: CKNativeValue) -> Date? {
    guard case .timestamp(let milliseconds) = native.value else { return nil }
    return Date(timeIntervalSince1970: Milliseconds.seconds(milliseconds))
  }
}

extension Data: CKNativeField {
  /// The bytes.
  public var nativeValue: CKNativeValue? { CKNativeValue(.bytes(self)) }

  /// Returns bytes that are not in an asset.
  public static func read(_ native: CKNativeValue) -> Data? {
    if case .bytes(let data) = native.value { data } else { nil }
  }
}

extension URL: CKNativeField {
  /// The text; nil for a file URL, which is an asset.
  public var nativeValue: CKNativeValue? { isFileURL ? nil : CKNativeValue(.string(absoluteString)) }

  /// Returns the URL in a string; nil if it is not one.
  public static func read(_ native: CKNativeValue) -> URL? {
    if case .string(let text) = native.value { URL(string: text) } else { nil }
  }
}

extension UUID: CKNativeField {
  /// The standard form in upper case.
  public var nativeValue: CKNativeValue? { CKNativeValue(.string(uuidString)) }

  /// Returns the UUID in a string; nil if it is not one.
  public static func read(_ native: CKNativeValue) -> UUID? {
    if case .string(let text) = native.value { UUID(uuidString: text) } else { nil }
  }
}

extension Array: CKNativeField where Element: CKNativeField {
  /// A list; nil if it is empty or contains a value or list that `FieldContent` has to encode.
  public var nativeValue: CKNativeValue? {
    var values: [FieldValue] = []
    values.reserveCapacity(count)
    for element in self {
      guard let value = element.nativeValue?.value else { return nil }
      values.append(value)
    }
    // A list of lists is JSON, so it has no element type.
    guard let first = values.first, let type = FieldType(rawValue: first.wireType) else { return nil }
    return CKNativeValue(.list(type, values))
  }

  /// Returns the elements of a list; nil if `FieldDecoder` has to decode one of them.
  public static func read(_ native: CKNativeValue) -> [Element]? {
    guard case .list(_, let values) = native.value else { return nil }
    var elements: [Element] = []
    elements.reserveCapacity(values.count)
    for value in values {
      guard let element = Element.read(CKNativeValue(value)) else { return nil }
      elements.append(element)
    }
    return elements
  }
}
