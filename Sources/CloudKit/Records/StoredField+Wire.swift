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
    case .timestamp(let milliseconds): NSDate(timeIntervalSince1970: Milliseconds.seconds(milliseconds))
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
    case let text as NSString: return .string(String(describing: text))
    case let number as NSNumber: return try wireNumber(number, key: key)
    case let date as NSDate:
      guard let milliseconds = Milliseconds.since1970(date.timeIntervalSince1970) else {
        throw .invalidArguments("the date in \(key) is out of range")
      }
      return .timestamp(milliseconds)
    case let data as NSData: return .bytes(Data(referencing: data))
    case let location as CLLocation: return .location(try location.wire(key: key))
    case let reference as CKReference: return .reference(reference.wire(from: zoneID))
    case let asset as CKAsset:
      guard let wire = asset.wire else { throw .invalidArguments("the asset in \(key) has not been uploaded") }
      return .asset(wire)
    case let opaque as CKOpaqueValue: return opaque.wire
    case let array as NSArray: return try wireList(array, key: key, zoneID: zoneID)
    default: throw .invalidArguments("\(key) has a value of type \(type(of: object)), which no field can hold")
    }
  }

  private static func wireNumber(_ number: NSNumber, key: String) throws(CKError) -> FieldValue {
    switch number.objCType.pointee {
    case CChar(bitPattern: UInt8(ascii: "d")), CChar(bitPattern: UInt8(ascii: "f")):
      guard number.doubleValue.isFinite else { throw .invalidArguments("\(key) is not a finite number") }
      return .double(number.doubleValue)
    case CChar(bitPattern: UInt8(ascii: "Q")):
      guard let value = Int64(exactly: number.uint64Value) else {
        throw .invalidArguments("the number in \(key) does not fit into a signed 64-bit integer")
      }
      return .int64(value)
    default: return .int64(number.int64Value)
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
    guard let first = elements.first else { return .list(.unknown, []) }
    // An integer among doubles is an element of a DOUBLE list.
    if elements.contains(where: { $0.wireType == FieldType.double.rawValue }) { elements = elements.map(\.asDouble) }
    let type = FieldType(rawValue: elements[0].wireType)
    guard let type, elements.allSatisfy({ $0.wireType == type.rawValue }) else {
      throw .invalidArguments("\(key) mixes \(first.wireType) with other types in one list")
    }
    return .list(type, elements)
  }
}

extension FieldValue {
  fileprivate var asDouble: FieldValue {
    if case .int64(let number) = self { return .double(Double(number)) }
    return self
  }
}
