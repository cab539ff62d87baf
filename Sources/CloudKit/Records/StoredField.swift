package import Foundation

/// A field of a record: the object that callers read, and its wire value until the field is edited.
///
/// The wire value is kept because the object may contain less: an empty list does not know its element type, and a
/// value of an unknown type cannot be encoded again from an object.
///
/// `@unchecked Sendable`: the object is an immutable Foundation class or a class of this module, copied when it is set.
package struct StoredField: @unchecked Sendable {
  package let object: NSObject
  package let wire: FieldValue?
  /// Whether CloudKit encrypts the field.
  package let isEncrypted: Bool

  init(object: NSObject, wire: FieldValue? = nil, isEncrypted: Bool = false) {
    self.object = object
    self.wire = wire
    self.isEncrypted = isEncrypted || wire?.isEncrypted == true
  }

  /// Makes a field from a Swift or Foundation value.
  package init(_ value: any CKRecordValueProtocol, isEncrypted: Bool = false) {
    if let (object, wire) = Self.plain(value) {
      self.init(object: object, wire: isEncrypted ? wire.map(FieldValue.encrypted) : wire, isEncrypted: isEncrypted)
      return
    }
    let object = Self.normalized(value)
    self.init(object: object, wire: (object as? CKOpaqueValue)?.wire, isEncrypted: isEncrypted)
  }

  /// The value as callers read it.
  package var value: (any CKRecordValue)? { object as? any CKRecordValue }

  /// Converts the most common types to an object and a wire value. The wire value is nil if it cannot be sent.
  ///
  /// Compares exact types, because a failing cast to a class bridges the value first.
  private static func plain(_ value: Any) -> (object: NSObject, wire: FieldValue?)? {
    let type = type(of: value)
    if type == String.self, let text = value as? String { return (NSString(string: text), .string(text)) }
    if type == Int.self, let number = value as? Int { return (NSNumber(value: number), .int64(Int64(number))) }
    if type == Int64.self, let number = value as? Int64 { return (NSNumber(value: number), .int64(number)) }
    if type == Bool.self, let flag = value as? Bool { return (NSNumber(value: flag), .int64(flag ? 1 : 0)) }
    if type == Double.self, let number = value as? Double {
      return (NSNumber(value: number), number.isFinite ? .double(number) : nil)
    }
    if type == Date.self, let date = value as? Date {
      guard let milliseconds = Milliseconds.since1970(date.timeIntervalSince1970) else { return (date as NSDate, nil) }
      return (NSDate(timeIntervalSince1970: Milliseconds.seconds(milliseconds)), .timestamp(milliseconds))
    }
    if type == Data.self, let data = value as? Data { return (NSData(data: data), .bytes(data)) }
    if type == [String].self, let texts = value as? [String] {
      let objects = NSArray(array: texts.map { NSString(string: $0) })
      return (objects, texts.isEmpty ? .list(.unknown, []) : .list(.string, texts.map(FieldValue.string)))
    }
    return nil
  }

  /// Converts a value to the Foundation class that Apple's framework uses. On Linux an `NSNumber` casts to every
  /// numeric type that it fits, while a boxed `Int` casts only to `Int`.
  private static func normalized(_ value: Any) -> NSObject {
    if let (object, _) = plain(value) { return object }
    return switch value {
    case let value as NSDate: NSDate(timeIntervalSince1970: Milliseconds.truncated(value.timeIntervalSince1970))
    case let value as NSNumber: value
    case let value as Int8: NSNumber(value: value)
    case let value as Int16: NSNumber(value: value)
    case let value as Int32: NSNumber(value: value)
    case let value as UInt: NSNumber(value: value)
    case let value as UInt8: NSNumber(value: value)
    case let value as UInt16: NSNumber(value: value)
    case let value as UInt32: NSNumber(value: value)
    case let value as UInt64: NSNumber(value: value)
    case let value as Float: NSNumber(value: value)
    case let value as NSString: NSString(string: String(describing: value))
    case let value as NSData: NSData(data: Data(referencing: value))
    case let value as NSArray: NSArray(array: value.map(normalized))
    case let value as [Any]: NSArray(array: value.map(normalized))
    case let value as CKReference: value
    case let value as CKAsset: value
    case let value as CLLocation: value
    case let value as CKOpaqueValue: value
    default: preconditionFailure("A record cannot hold a value of type \(type(of: value)).")
    }
  }
}

/// CloudKit's dates, in whole milliseconds since 1970.
package enum Milliseconds {
  /// Converts seconds to whole milliseconds, rounded down; nil if not finite or out of range of `Int64`.
  package static func since1970(_ seconds: Double) -> Int64? {
    // A date made from whole milliseconds may be a few nanoseconds less, because `Date` stores a binary fraction.
    Int64(exactly: (seconds * 1000 + 0.001).rounded(.down))
  }

  package static func seconds(_ milliseconds: Int64) -> Double { Double(milliseconds) / 1000 }

  static func truncated(_ seconds: Double) -> Double {
    since1970(seconds).map(Self.seconds) ?? seconds
  }
}

/// A value of a type that this library does not know. It can be copied between fields and sent back.
final class CKOpaqueValue: NSObject, CKRecordValue {
  let wire: FieldValue

  init(_ wire: FieldValue) { self.wire = wire }

  override var description: String { "<value of the unknown type \(wire.wireType)>" }
}
