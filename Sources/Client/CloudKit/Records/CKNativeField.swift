public import Foundation

/// A Swift type that a field stores as a native value, with its conversion. Records, predicates and models share it.
///
/// `CKFieldReader` and `CKFieldWriter` convert properties of these types directly, without `Codable`. Programs do not
/// use it. It is public for generated code.
public protocol CKNativeField {
  /// The value as a field stores it.
  ///
  /// - Throws: An error for a value that no field can store.
  var storedField: StoredField { get throws }

  /// Returns the value of a field; nil if the field has another type.
  ///
  /// - Throws: An error for a value that this type does not have.
  static func read(_ field: StoredField) throws -> Self?
}

extension String: CKRecordValue, CKNativeField {
  /// The text.
  public var storedField: StoredField { StoredField(object: NSString(string: self), wire: .string(self)) }

  /// Returns the text of a string.
  public static func read(_ field: StoredField) -> String? {
    if case .string(let text)? = field.plain { text } else { nil }
  }
}

extension Bool: CKRecordValue, CKNativeField {
  /// 1 or 0.
  public var storedField: StoredField { StoredField(object: NSNumber(value: self), wire: .int64(self ? 1 : 0)) }

  /// Returns whether a number is 1.
  public static func read(_ field: StoredField) throws -> Bool? {
    switch field.plain {
    case .int64(0)?, .double(0)?: return false
    case .int64(1)?, .double(1)?: return true
    case .int64?, .double?: throw ConversionFailure(reason: "The number is neither 0 nor 1, so it is not a Bool.")
    default: return nil
    }
  }
}

extension CKNativeField where Self: FixedWidthInteger {
  /// The number.
  public var storedField: StoredField {
    get throws {
      guard let number = Int64(exactly: self) else { throw ConversionFailure.largeInteger }
      return StoredField(object: NSNumber(value: number), wire: .int64(number))
    }
  }

  /// Returns a whole number.
  public static func read(_ field: StoredField) throws -> Self? {
    let number: Int64?
    switch field.plain {
    case .int64(let whole)?: number = whole
    case .double(let value)?: number = Int64(exactly: value)
    default: return nil
    }
    guard let number, let value = Self(exactly: number) else {
      throw ConversionFailure(reason: "The number does not fit into \(Self.self).")
    }
    return value
  }
}

extension Int: CKRecordValue, CKNativeField {}
extension Int8: CKRecordValue, CKNativeField {}
extension Int16: CKRecordValue, CKNativeField {}
extension Int32: CKRecordValue, CKNativeField {}
extension Int64: CKRecordValue, CKNativeField {}
extension UInt: CKRecordValue, CKNativeField {}
extension UInt8: CKRecordValue, CKNativeField {}
extension UInt16: CKRecordValue, CKNativeField {}
extension UInt32: CKRecordValue, CKNativeField {}
extension UInt64: CKRecordValue, CKNativeField {}

extension Double: CKRecordValue, CKNativeField {
  /// The number, which must be finite.
  public var storedField: StoredField {
    get throws {
      guard isFinite else { throw ConversionFailure.infinite }
      return StoredField(object: NSNumber(value: self), wire: .double(self))
    }
  }

  /// Returns a number.
  public static func read(_ field: StoredField) throws -> Double? {
    switch field.plain {
    case .double(let number)?: return number
    case .int64(let whole)?:
      guard let number = Double(exactly: whole) else {
        throw ConversionFailure(reason: "The number does not fit into Double.")
      }
      return number
    default: return nil
    }
  }
}

extension Float: CKRecordValue, CKNativeField {
  /// The number, which must be finite.
  public var storedField: StoredField { get throws { try Double(self).storedField } }

  /// Returns the nearest number.
  public static func read(_ field: StoredField) throws -> Float? {
    guard let number = try Double.read(field) else { return nil }
    // Losing precision is expected of a Float, but infinity would be another number.
    guard Float(number).isFinite else { throw ConversionFailure(reason: "The number does not fit into Float.") }
    return Float(number)
  }
}

extension Date: CKRecordValue, CKNativeField {
  /// The time, which is sent in whole milliseconds.
  public var storedField: StoredField {
    get throws {
      guard let milliseconds = Milliseconds.since1970(reference: timeIntervalSinceReferenceDate) else {
        throw ConversionFailure.lateDate
      }
      let date = NSDate(timeIntervalSinceReferenceDate: timeIntervalSinceReferenceDate)
      return StoredField(object: date, wire: .timestamp(milliseconds))
    }
  }

  /// Returns a time; the nearest one to the server's milliseconds.
  public static func read(_ field: StoredField) -> Date? {
    if let date = field.object as? NSDate {
      return Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    }
    guard case .timestamp(let milliseconds)? = field.wire else { return nil }
    return Milliseconds.date(milliseconds)
  }
}

extension Data: CKRecordValue, CKNativeField {
  /// The bytes.
  public var storedField: StoredField { StoredField(object: NSData(data: self), wire: .bytes(self)) }

  /// Returns bytes, or those of an asset that was downloaded.
  public static func read(_ field: StoredField) throws -> Data? {
    if case .bytes(let data)? = field.plain { data } else { try (field.object as? CKAsset)?.contents() }
  }
}

extension URL: CKNativeField {
  /// The text; for a file URL, an asset with the file.
  public var storedField: StoredField {
    isFileURL ? CKAsset(fileURL: self).storedField : absoluteString.storedField
  }

  /// Returns the URL in a string, or of the file of an asset that was downloaded.
  public static func read(_ field: StoredField) throws -> URL? {
    if let asset = field.object as? CKAsset {
      guard let file = asset.fileURL else { throw ConversionFailure.notDownloaded }
      return file
    }
    guard let text = String.read(field) else { return nil }
    guard let url = URL(string: text) else { throw ConversionFailure(reason: "The string is not a URL.") }
    return url
  }
}

extension UUID: CKNativeField {
  /// The standard form in upper case.
  public var storedField: StoredField { uuidString.storedField }

  /// Returns the UUID in a string.
  public static func read(_ field: StoredField) throws -> UUID? {
    guard let text = String.read(field) else { return nil }
    guard let uuid = UUID(uuidString: text) else { throw ConversionFailure(reason: "The string is not a UUID.") }
    return uuid
  }
}

extension CKReference: CKNativeField {
  /// The reference.
  public var storedField: StoredField { StoredField(object: self) }
  /// Returns a reference.
  public static func read(_ field: StoredField) -> CKReference? { field.object as? CKReference }
}

extension CKAsset: CKNativeField {
  /// The asset.
  public var storedField: StoredField { StoredField(object: self) }
  /// Returns an asset.
  public static func read(_ field: StoredField) -> CKAsset? { field.object as? CKAsset }

  /// Returns the bytes of the local file.
  fileprivate func contents() throws(ConversionFailure) -> Data {
    guard let file = localFile else { throw .notDownloaded }
    do {
      // The file may be removed with the asset.
      return try withExtendedLifetime(self) { try Data(contentsOf: file) }
    } catch {
      throw ConversionFailure(.assetFileNotFound, "The asset's file cannot be read.")
    }
  }
}

extension CLLocation: CKNativeField {
  /// The location, whose numbers must be finite.
  public var storedField: StoredField {
    get throws {
      guard let wire = try? wire(key: "") else { throw ConversionFailure.infinitePlace }
      return StoredField(object: self, wire: .location(wire))
    }
  }

  /// Returns a location.
  public static func read(_ field: StoredField) -> CLLocation? { field.object as? CLLocation }
}

extension Array: CKNativeField where Element: CKNativeField {
  /// A list.
  public var storedField: StoredField { get throws { try StoredField(list: self) { try $0.storedField } } }

  /// Returns the elements of a list; nil also if one of them cannot be read from its plain value.
  public static func read(_ field: StoredField) -> [Element]? {
    guard case .list(let type, let values)? = field.wire else { return nil }
    // Dates that were assigned are more precise than what is sent.
    if type == .timestamp, let dates = field.object as? [Element] { return dates }
    var elements: [Element] = []
    elements.reserveCapacity(values.count)
    for value in values {
      guard let element = try? Element.read(StoredField(plain: value)) else { return nil }
      elements.append(element)
    }
    return elements
  }
}

/// The error for a value of the right type that cannot be converted. The reason never contains the value, which may be
/// private.
package struct ConversionFailure: Error {
  /// The reason, as a sentence.
  package let reason: String
  /// The error that a caller can act on. Its description is the reason.
  package private(set) var cause: CKError?
  /// The kind of a value that no field can store, and the problem with it. They are parts of the sentences about
  /// predicates and records.
  private var part = (kind: "value", problem: "cannot be stored")

  package init(reason: String, _ cause: (any Error)? = nil) { (self.reason, self.cause) = (reason, cause as? CKError) }

  package init(_ code: CKError.Code, _ reason: String) {
    self.reason = reason
    cause = CKError(code, userInfo: [NSLocalizedDescriptionKey: reason])
  }

  private init(_ kind: String, _ problem: String, reason: String) {
    self.reason = reason
    part = (kind, problem)
  }

  /// The reason for a predicate.
  var inPredicate: String { "a \(part.kind) \(part.problem)" }

  /// Returns the reason for a field of a record.
  func inField(_ key: String) -> String { "the \(part.kind) in \(key) \(part.problem)" }

  static let largeInteger = ConversionFailure(
    "number",
    "does not fit into a signed integer of 64 bits",
    reason: "The number does not fit into a signed integer of 64 bits, as CloudKit requires."
  )
  static let infinite = ConversionFailure("number", "is not finite", reason: "CloudKit supports only finite numbers.")
  static let infinitePlace = ConversionFailure(
    "location",
    "has a number that is not finite",
    reason: "CloudKit supports only finite numbers."
  )
  static let notDownloaded = ConversionFailure(
    .assetNotAvailable,
    "The asset has not been downloaded. Call download() on the record's CKAsset first."
  )
  static let lateDate = ConversionFailure("date", "is out of range", reason: "The date is out of range.")
}
