internal import CloudKit
internal import Foundation

/// A type whose values are one native value of a field: how it is written, and beside it how it is read.
protocol FieldScalar {
  /// The value that the field holds.
  func fieldValue() throws(Unfit) -> any CKRecordValue

  /// The value in a field; nil where the field holds something of another kind.
  static func read(_ field: any CKRecordValue) throws(Unfit) -> Self?
}

/// A value of the right kind that cannot be carried over. The reason names no value: those are private to the user.
struct Unfit: Error {
  let reason: String
}

extension String: FieldScalar {
  func fieldValue() -> any CKRecordValue { self }
  static func read(_ field: any CKRecordValue) -> String? { field as? String }
}

extension Bool: FieldScalar {
  func fieldValue() -> any CKRecordValue { Int64(self ? 1 : 0) }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> Bool? {
    guard let number = field as? NSNumber else { return nil }
    switch number as? Int64 {
    case 0: return false
    case 1: return true
    default: throw Unfit(reason: "The number is neither 0 nor 1, so it is no Bool.")
    }
  }
}

extension FieldScalar where Self: FixedWidthInteger {
  func fieldValue() throws(Unfit) -> any CKRecordValue {
    guard let number = Int64(exactly: self) else {
      throw Unfit(reason: "The number does not fit into 64 bits with a sign, which is what CloudKit keeps.")
    }
    return number
  }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> Self? {
    guard let number = field as? NSNumber else { return nil }
    guard let whole = number as? Int64, let value = Self(exactly: whole) else {
      throw Unfit(reason: "The number does not fit into \(Self.self).")
    }
    return value
  }
}

extension Int: FieldScalar {}
extension Int8: FieldScalar {}
extension Int16: FieldScalar {}
extension Int32: FieldScalar {}
extension Int64: FieldScalar {}
extension UInt: FieldScalar {}
extension UInt8: FieldScalar {}
extension UInt16: FieldScalar {}
extension UInt32: FieldScalar {}
extension UInt64: FieldScalar {}

extension Double: FieldScalar {
  func fieldValue() throws(Unfit) -> any CKRecordValue {
    guard isFinite else { throw Unfit(reason: "CloudKit keeps finite numbers only.") }
    return self
  }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> Double? {
    guard let number = field as? NSNumber else { return nil }
    guard let value = number as? Double else { throw Unfit(reason: "The number does not fit into Double.") }
    return value
  }
}

extension Float: FieldScalar {
  func fieldValue() throws(Unfit) -> any CKRecordValue { try Double(self).fieldValue() }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> Float? {
    guard let number = try Double.read(field) else { return nil }
    // Fewer digits are what a Float is for; a number beyond its range is another number.
    guard Float(number).isFinite else { throw Unfit(reason: "The number does not fit into Float.") }
    return Float(number)
  }
}

extension Date: FieldScalar {
  func fieldValue() throws(Unfit) -> any CKRecordValue {
    guard Milliseconds.since1970(timeIntervalSince1970) != nil else { throw Unfit(reason: "The date is out of range.") }
    return self
  }

  static func read(_ field: any CKRecordValue) -> Date? { field as? Date }
}

extension Data: FieldScalar {
  func fieldValue() -> any CKRecordValue { self }
  static func read(_ field: any CKRecordValue) -> Data? { field as? Data }
}

extension URL: FieldScalar {
  func fieldValue() throws(Unfit) -> any CKRecordValue {
    guard !isFileURL else {
      throw Unfit(reason: "A path means nothing on another machine: set the file as a CKAsset on the record instead.")
    }
    return absoluteString
  }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> URL? {
    guard let text = field as? String else { return nil }
    guard let url = URL(string: text) else { throw Unfit(reason: "The text is no URL.") }
    return url
  }
}

extension UUID: FieldScalar {
  func fieldValue() -> any CKRecordValue { uuidString }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> UUID? {
    guard let text = field as? String else { return nil }
    guard let uuid = UUID(uuidString: text) else { throw Unfit(reason: "The text is no UUID.") }
    return uuid
  }
}

extension CKReference: FieldScalar {
  func fieldValue() -> any CKRecordValue { self }
  static func read(_ field: any CKRecordValue) -> CKReference? { field as? CKReference }
}
