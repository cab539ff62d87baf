internal import Foundation

extension StoredField {
  /// Makes a field from its wire encoding.
  ///
  /// - Parameter zoneID: The zone of the record that the field belongs to.
  package init(wire: FieldValue, zoneID: CKRecordZoneID) {
    self.init(object: Self.object(wire, zoneID: zoneID), wire: wire)
  }

  private static func object(_ value: FieldValue, zoneID: CKRecordZoneID) -> NSObject {
    switch value {
    case .string(let text): NSString(string: text)
    case .int64(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .bytes(let data): NSData(data: data)
    case .timestamp(let milliseconds): Milliseconds.nsDate(milliseconds)
    case .location(let location): CLLocation(wire: location)
    case .reference(let reference): CKReference(wire: reference, zoneID: zoneID)
    case .asset(let asset): CKAsset(wire: asset)
    case .list(_, let elements): NSArray(array: elements.map { object($0, zoneID: zoneID) })
    case .encrypted(let value): object(value, zoneID: zoneID)
    case .other: CKOpaqueValue(value)
    }
  }

  /// Returns the wire encoding of the field.
  ///
  /// - Parameters:
  ///   - key: The field's name, for the error message.
  ///   - zoneID: The zone of the record that the field belongs to.
  /// - Throws: `CKError.invalidArguments` for a value that cannot be encoded.
  func wireValue(key: String, zoneID: CKRecordZoneID) throws(CKError) -> FieldValue {
    if let wire { return wire }
    let value = try Self.wireValue(object, key: key, zoneID: zoneID)
    return isEncrypted ? .encrypted(value) : value
  }

  private static func wireValue(_ object: NSObject, key: String, zoneID: CKRecordZoneID) throws(CKError) -> FieldValue {
    switch object {
    case let location as CLLocation: return .location(try location.wire(key: key))
    case let reference as CKReference: return .reference(reference.wire(from: zoneID))
    case let asset as CKAsset:
      guard let wire = asset.wire else { throw .invalidArguments("the asset in \(key) has not been uploaded") }
      return .asset(wire)
    case let array as NSArray: return try wireList(array, key: key, zoneID: zoneID)
    default:
      do {
        if let value = try FieldValue(object) { return value }
      } catch {
        throw .invalidArguments(error.inField(key))
      }
      throw .invalidArguments("\(key) has a value of type \(type(of: object)), which no field can hold")
    }
  }

  private static func wireList(_ array: NSArray, key: String, zoneID: CKRecordZoneID) throws(CKError) -> FieldValue {
    var elements: [FieldValue] = []
    for element in array {
      guard let object = element as? NSObject, !(object is NSArray) else {
        throw .invalidArguments("\(key) has a list element of type \(type(of: element)), which no list can hold")
      }
      elements.append(try wireValue(object, key: key, zoneID: zoneID))
    }
    guard let list = FieldValue(list: elements) else {
      throw .invalidArguments("\(key) mixes \(elements[0].wireType) with other types in one list")
    }
    return list
  }
}

extension FieldValue {
  /// Converts an object of Foundation; nil for classes that are not scalars.
  init?(_ object: NSObject) throws(ConversionFailure) {
    switch object {
    case let text as NSString: self = .string(String(describing: text))
    case let number as NSNumber:
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"), UInt8(ascii: "f"):
        guard number.doubleValue.isFinite else { throw .infinite }
        self = .double(number.doubleValue)
      case UInt8(ascii: "Q"):
        guard let integer = Int64(exactly: number.uint64Value) else { throw .largeInteger }
        self = .int64(integer)
      default: self = .int64(number.int64Value)
      }
    case let date as NSDate:
      guard let milliseconds = Milliseconds.since1970(reference: date.timeIntervalSinceReferenceDate) else {
        throw .lateDate
      }
      self = .timestamp(milliseconds)
    case let data as NSData: self = .bytes(Data(referencing: data))
    case let id as NSUUID: self = .string(id.uuidString)
    case let opaque as CKOpaqueValue: self = opaque.wire
    default: return nil
    }
  }

  /// Creates a list of values of one type; nil if the types differ or a value is a list. Integers in a list with
  /// floating-point numbers become floating-point numbers.
  init?(list values: [FieldValue]) {
    guard let first = values.first else {
      self = .list(.unknown, [])
      return
    }
    if let type = first.scalarType, values.allSatisfy({ $0.scalarType == type }) {
      self = .list(type, values)
      return
    }
    let numbers = values.compactMap { value -> FieldValue? in
      if case .int64(let number) = value { return .double(Double(number)) }
      return value.scalarType == .double ? value : nil
    }
    guard numbers.count == values.count else { return nil }
    self = .list(.double, numbers)
  }
}
