internal import CloudKit
internal import Foundation

/// A type that is stored as a single native field value, with its encoding and decoding.
protocol FieldScalar {
  /// Returns the field value.
  func fieldValue() throws(Unfit) -> any CKRecordValue

  /// Returns the value of a field; nil if the field has another type.
  static func read(_ field: any CKRecordValue) throws(Unfit) -> Self?
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
    default: throw Unfit(reason: "The number is neither 0 nor 1, so it is not a Bool.")
    }
  }
}

extension FieldScalar where Self: FixedWidthInteger {
  func fieldValue() throws(Unfit) -> any CKRecordValue {
    guard let number = Int64(exactly: self) else {
      throw Unfit(reason: "The number does not fit into a signed integer of 64 bits, as CloudKit requires.")
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
    guard isFinite else { throw Unfit(reason: "CloudKit supports only finite numbers.") }
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
    // Losing precision is expected of a Float, but infinity would be another number.
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

  static func read(_ field: any CKRecordValue) throws(Unfit) -> Data? {
    // Casting to `Data` copies byte by byte.
    if let data = field as? NSData { return Data(bytes: data.bytes, count: data.length) }
    return try (field as? CKAsset)?.contents()
  }
}

extension URL: FieldScalar {
  func fieldValue() -> any CKRecordValue { isFileURL ? CKAsset(fileURL: self) : absoluteString }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> URL? {
    if let asset = field as? CKAsset {
      guard let file = asset.fileURL else { throw .notDownloaded }
      return file
    }
    guard let text = field as? String else { return nil }
    guard let url = URL(string: text) else { throw Unfit(reason: "The string is not a URL.") }
    return url
  }
}

extension UUID: FieldScalar {
  func fieldValue() -> any CKRecordValue { uuidString }

  static func read(_ field: any CKRecordValue) throws(Unfit) -> UUID? {
    guard let text = field as? String else { return nil }
    guard let uuid = UUID(uuidString: text) else { throw Unfit(reason: "The string is not a UUID.") }
    return uuid
  }
}

extension CKReference: FieldScalar {
  func fieldValue() -> any CKRecordValue { self }
  static func read(_ field: any CKRecordValue) -> CKReference? { field as? CKReference }
}

extension CKAsset: FieldScalar {
  func fieldValue() -> any CKRecordValue { self }
  static func read(_ field: any CKRecordValue) -> CKAsset? { field as? CKAsset }

  /// Returns the bytes of the local file.
  func contents() throws(Unfit) -> Data {
    guard let file = localFile else { throw .notDownloaded }
    do {
      // The file may be removed with the asset.
      return try withExtendedLifetime(self) { try Data(contentsOf: file) }
    } catch {
      throw Unfit(.assetFileNotFound, "The asset's file cannot be read.")
    }
  }
}

extension Unfit {
  fileprivate static var notDownloaded: Unfit {
    Unfit(.assetNotAvailable, "The asset has not been downloaded. Call download() on the record's CKAsset first.")
  }
}

extension CLLocation: FieldScalar {
  func fieldValue() throws(Unfit) -> any CKRecordValue {
    guard (try? wire(key: "")) != nil else { throw Unfit(reason: "CloudKit supports only finite numbers.") }
    return self
  }

  static func read(_ field: any CKRecordValue) -> CLLocation? { field as? CLLocation }
}
