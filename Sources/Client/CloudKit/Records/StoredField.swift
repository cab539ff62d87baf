package import Foundation

/// A field of a record: the object that callers read, and its wire value until the field is edited.
///
/// The wire value is kept because the object may contain less: an empty list does not know its element type, and a
/// value of an unknown type cannot be encoded again from an object.
///
/// Programs do not use it. It is public for generated code.
///
/// `@unchecked Sendable`: the object is an immutable Foundation class or a class of this module, copied when it is set.
public struct StoredField: @unchecked Sendable {
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
    let field = Self.normalized(value)
    let isEncrypting = isEncrypted && !(field.object is CKOpaqueValue)
    self.init(
      object: field.object,
      wire: isEncrypting ? field.wire.map(FieldValue.encrypted) : field.wire,
      isEncrypted: isEncrypted
    )
  }

  /// Makes a list from the field of each element. It has no wire value if the elements cannot be sent as one.
  package init<Element>(list: [Element], _ field: (Element) throws -> StoredField) rethrows {
    var (objects, values): ([NSObject], [FieldValue]) = ([], [])
    objects.reserveCapacity(list.count)
    values.reserveCapacity(list.count)
    for element in list {
      let field = try field(element)
      objects.append(field.object)
      if let value = field.wire { values.append(value) }
    }
    self.init(object: NSArray(array: objects), wire: values.count == list.count ? FieldValue(list: values) : nil)
  }

  /// Makes a value that is only read as a Swift type, without an object.
  package init(plain value: FieldValue) { self.init(object: Self.noObject, wire: value) }

  private static let noObject = NSNull()

  /// The value as callers read it.
  package var value: (any CKRecordValue)? { object as? any CKRecordValue }

  /// The wire value, or that of an object. A number that cannot be sent can still be read.
  var plain: FieldValue? {
    if let wire { return wire }
    return (try? FieldValue(object)) ?? (object as? NSNumber).map { .double($0.doubleValue) }
  }

  /// Whether the object is a date, or a list of dates, with parts of a millisecond, which are not sent.
  var isMorePrecise: Bool {
    switch wire {
    case .timestamp?, .list(.timestamp, _)?, .encrypted(.timestamp)?, .encrypted(.list(.timestamp, _))?:
      object.isEqual(sent.object) == false
    default: false
    }
  }

  /// The field as the server has it after a save.
  var sent: StoredField { wire.map { StoredField(wire: $0, zoneID: .default) } ?? self }

  /// The elements of a list; nil for other values.
  package var elements: [StoredField]? {
    guard let objects = (object as? NSArray)?.elements else { return nil }
    guard case .list(_, let values)? = wire else { return objects.map(Self.normalized) }
    return zip(objects, values).compactMap { object, wire in
      (object as? NSObject).map { StoredField(object: $0, wire: wire) }
    }
  }

  /// Converts a value to the Foundation class that Apple's framework uses. On Linux an `NSNumber` casts to every
  /// numeric type that it fits, while a boxed `Int` casts only to `Int`.
  private static func normalized(_ value: Any) -> StoredField {
    if let native = value as? any CKNativeField, let field = try? native.storedField { return field }
    return switch value {
    case let value as NSDate: StoredField(object: value)
    case let value as NSNumber: StoredField(object: value)
    case let value as [Any]: StoredField(list: value, normalized)
    case let value as NSObject where value is any CKRecordValue:
      (try? FieldValue(value)).map { StoredField(wire: $0, zoneID: .default) } ?? StoredField(object: value)
    default: preconditionFailure("A record cannot hold a value of type \(type(of: value)).")
    }
  }
}

/// CloudKit's dates, in whole milliseconds since 1970.
///
/// `Date` stores the seconds since 2001 in binary, which has no exact value for most milliseconds.
package enum Milliseconds {
  /// The milliseconds from 1970 to 2001.
  private static let reference: Int64 = 978_307_200_000

  /// Returns the whole milliseconds of a time since 2001, rounded down; nil if not finite or out of range of `Int64`.
  package static func since1970(reference seconds: TimeInterval) -> Int64? {
    // A date made of whole milliseconds may be a little less than they are: by its own rounding, by that of its seconds
    // since 1970, and by that of the product.
    let largest = max(abs(seconds), abs(seconds + Date.timeIntervalBetween1970AndReferenceDate))
    let slack = min(0.5, max(0.001, 2000 * largest.ulp))
    guard let whole = Int64(exactly: (seconds * 1000 + slack).rounded(.down)) else { return nil }
    let (milliseconds, isOverflow) = whole.addingReportingOverflow(reference)
    return isOverflow ? nil : milliseconds
  }

  /// Returns the date nearest to a time, as a clock that counts milliseconds would. The sum of two rounded numbers, as
  /// in `Date(timeIntervalSince1970:)`, is often its neighbour.
  package static func date(_ milliseconds: Int64) -> Date {
    let (whole, isOverflow) = milliseconds.subtractingReportingOverflow(reference)
    return Date(timeIntervalSinceReferenceDate: Double(isOverflow ? .min : whole) / 1000)
  }

  static func nsDate(_ milliseconds: Int64) -> NSDate {
    NSDate(timeIntervalSinceReferenceDate: date(milliseconds).timeIntervalSinceReferenceDate)
  }
}

/// A value of a type that this library does not know. It can be copied between fields and sent back.
final class CKOpaqueValue: NSObject, __CKRecordObjCValue {
  let wire: FieldValue

  init(_ wire: FieldValue) { self.wire = wire }

  override var description: String { "<value of the unknown type \(wire.wireType)>" }
}
