internal import Foundation

/// One field as a record keeps it: the object that callers read, and the wire's own value while nobody has changed it.
///
/// The wire's value is kept because the object may say less: an empty list does not know its element type, and a type this
/// library does not know has no object that could be sent again.
///
/// `@unchecked Sendable`: the object is an immutable Foundation class or one of this module's, copied on its way in.
struct StoredField: @unchecked Sendable {
  let object: NSObject
  let wire: FieldValue?
  /// Whether CloudKit encrypts the field.
  let isEncrypted: Bool

  init(object: NSObject, wire: FieldValue? = nil, isEncrypted: Bool = false) {
    self.object = object
    self.wire = wire
    self.isEncrypted = isEncrypted || wire?.isEncrypted == true
  }

  /// Takes over a value of any spelling.
  init(_ value: any CKRecordValueProtocol, isEncrypted: Bool = false) {
    let object = Self.normalized(value)
    self.init(object: object, wire: (object as? CKOpaqueValue)?.wire, isEncrypted: isEncrypted)
  }

  /// The value as callers read it.
  var value: (any CKRecordValue)? { object as? any CKRecordValue }

  /// Everything becomes the Foundation class that Apple's framework holds: on Linux an `NSNumber` casts to every numeric
  /// type that it fits, while an `Int` in a box casts to nothing but `Int`.
  private static func normalized(_ value: Any) -> NSObject {
    switch value {
    case let value as NSDate: NSDate(timeIntervalSince1970: Milliseconds.truncated(value.timeIntervalSince1970))
    case let value as Date: NSDate(timeIntervalSince1970: Milliseconds.truncated(value.timeIntervalSince1970))
    case let value as NSNumber: value
    case let value as Bool: NSNumber(value: value)
    case let value as Int: NSNumber(value: value)
    case let value as Int8: NSNumber(value: value)
    case let value as Int16: NSNumber(value: value)
    case let value as Int32: NSNumber(value: value)
    case let value as Int64: NSNumber(value: value)
    case let value as UInt: NSNumber(value: value)
    case let value as UInt8: NSNumber(value: value)
    case let value as UInt16: NSNumber(value: value)
    case let value as UInt32: NSNumber(value: value)
    case let value as UInt64: NSNumber(value: value)
    case let value as Float: NSNumber(value: value)
    case let value as Double: NSNumber(value: value)
    case let value as NSString: NSString(string: String(describing: value))
    case let value as String: NSString(string: value)
    case let value as NSData: NSData(data: Data(referencing: value))
    case let value as Data: NSData(data: value)
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

/// CloudKit's dates: whole milliseconds since 1970.
package enum Milliseconds {
  /// A date in the wire's unit, without its fraction; nil where it is no finite date or lies beyond `Int64`.
  package static func since1970(_ seconds: Double) -> Int64? {
    // A date that was read from whole milliseconds may lie a few nanoseconds below them: `Date` keeps a binary fraction.
    Int64(exactly: (seconds * 1000 + 0.001).rounded(.down))
  }

  package static func seconds(_ milliseconds: Int64) -> Double { Double(milliseconds) / 1000 }

  static func truncated(_ seconds: Double) -> Double {
    since1970(seconds).map(Self.seconds) ?? seconds
  }
}

/// A value of a type that this library does not know: it can be carried from one field to another, and sent back.
final class CKOpaqueValue: NSObject, CKRecordValue {
  let wire: FieldValue

  init(_ wire: FieldValue) { self.wire = wire }

  override var description: String { "<value of the unknown type \(wire.wireType)>" }
}
