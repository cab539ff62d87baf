import CloudKitSchema
import Foundation
import JSONText

/// A field of a request after validation: either a value to set, or a request to clear the field.
enum IncomingField {
  case clear
  case set(EmulatorValue, CKSchema.FieldType?)
}

/// Decodes the field values of requests. The type comes from the type tag, or from the JSON if there is no tag, and
/// must agree with the schema. (reference 3.1) [D]
enum FieldDecoding {
  /// Turns an asset dictionary into the file that it refers to.
  typealias AssetReader = (JSONObject) throws(ServerError) -> EmulatorAsset

  /// Decodes one entry of a record's `fields`.
  ///
  /// - Parameter fraction: The treatment of times with a fraction of a millisecond.
  /// - Throws: `BAD_REQUEST` with the name of the field and the types.
  static func field(
    _ name: String,
    _ json: JSON,
    known: CKSchema.Field?,
    fraction: EmulatorAssumptions.TimestampFraction,
    asset: (_ object: JSONObject, _ field: String) throws(ServerError) -> EmulatorAsset
  ) throws(ServerError) -> IncomingField {
    guard let object = json.object else { throw .badRequest("Unexpected input for field '\(name)'") }
    // Both `{"value":null}` and `{}` clear a field. [C]
    guard let raw = object["value"] else { return .clear }
    let tag = try Tag(object, field: name)
    if tag?.type == nil, tag?.isList != true, let elements = raw.array, elements.isEmpty {
      return .set(.list(known?.type.scalar, []), try check(name, nil, known: known))
    }
    let found = try type(of: raw, tag, field: name)
    let given = CKSchema.FieldType(found.scalar, isList: found.isList, isEncrypted: tag?.isEncrypted ?? false)
    let type = try check(name, given, known: known)
    let value = try value(raw, type ?? given, fraction) { (object) throws(ServerError) in try asset(object, name) }
    return .set(value, type)
  }

  /// Decodes the operand of a filter. `IN` and similar comparators need the list tag. [L3]
  static func operand(_ json: JSON?, needsListTag: Bool) throws(ServerError) -> EmulatorValue {
    guard let object = json?.object, let raw = object["value"] else {
      throw .badRequest("BadRequestException: Unexpected input")
    }
    let tag = try Tag(object, field: "fieldValue")
    if needsListTag, tag?.isList != true { throw .badRequest("BadRequestException: Unexpected input") }
    if let tag, tag.type == nil { return .list(nil, []) }
    return try value(raw, try type(of: raw, tag, field: "fieldValue"), .isRefused) { (_) throws(ServerError) in
      throw .badRequest("Assets cannot be compared")
    }
  }

  /// Returns the type of a value after checking it against the schema. (reference 3.1, 3.5)
  ///
  /// - Parameter given: The value's own type; `nil` for an empty list without a type.
  private static func check(
    _ name: String,
    _ given: CKSchema.FieldType?,
    known: CKSchema.Field?
  ) throws(ServerError) -> CKSchema.FieldType? {
    guard let known else { return given }
    let type = known.type
    guard let given else {
      guard type.isList else { throw mismatch(name, "UNKNOWN_LIST", type) }
      return type
    }
    // Observed wording, for both directions. [L3]
    if given.isEncrypted, !type.isEncrypted {
      throw .badRequest("Attempt to save encrypted data in non encrypted field type for field '\(name)'")
    }
    if known.number == .undecided, given == CKSchema.FieldType(.int64, isList: type.isList) { return type }
    guard given == type else { throw mismatch(name, given.name, type) }
    return type
  }

  private static func mismatch(_ name: String, _ given: String, _ known: CKSchema.FieldType) -> ServerError {
    .badRequest("invalid attempt to set value type \(given) for field '\(name)', defined to be: \(known.name)")
  }

  private static func type(of json: JSON, _ tag: Tag?, field: String) throws(ServerError) -> CKSchema.FieldType {
    if let tagged = tag?.schemaField { return tagged }
    return try inferred(json, field: field)
  }

  /// Returns the type of an untagged value (reference 3.1). An integral number is INT64 even if the field is a DOUBLE.
  /// [D][C]
  private static func inferred(_ json: JSON, field name: String) throws(ServerError) -> CKSchema.FieldType {
    switch json {
    case .string: return CKSchema.FieldType(.string)
    case .int, .bool: return CKSchema.FieldType(.int64)
    case .double, .digits: return CKSchema.FieldType(.double)
    case .object(let object):
      if object["recordName"] != nil { return CKSchema.FieldType(.reference) }
      if object["latitude"] != nil { return CKSchema.FieldType(.location) }
      if object["receipt"] != nil || object["fileChecksum"] != nil { return CKSchema.FieldType(.asset) }
      throw .badRequest("Unexpected input for field '\(name)'")
    case .array(let elements):
      guard let first = elements.first else { throw .badRequest("BadRequestException: Unexpected input") }
      let element = try inferred(first, field: name)
      guard !element.isList else { throw .badRequest("Unexpected input for field '\(name)'") }
      return CKSchema.FieldType(element.scalar, isList: true)
    case .null: throw .badRequest("Unexpected input for field '\(name)'")
    }
  }

  private static func value(
    _ json: JSON,
    _ field: CKSchema.FieldType,
    _ fraction: EmulatorAssumptions.TimestampFraction,
    _ asset: AssetReader
  ) throws(ServerError) -> EmulatorValue {
    guard field.isList else { return try scalar(json, field.scalar, fraction, asset) }
    guard let elements = json.array else { throw .badRequest("Invalid value, expected type \(field.name).") }
    var values: [EmulatorValue] = []
    values.reserveCapacity(elements.count)
    for element in elements { values.append(try scalar(element, field.scalar, fraction, asset)) }
    return .list(field.scalar, values)
  }

  private static func scalar(
    _ json: JSON,
    _ type: CKSchema.ValueType,
    _ fraction: EmulatorAssumptions.TimestampFraction,
    _ asset: AssetReader
  ) throws(ServerError) -> EmulatorValue {
    switch type {
    case .string:
      if let text = json.string { return .string(text) }
    case .int64:
      if case .bool(let flag) = json { return .int64(flag ? 1 : 0) }
      if let number = json.integer { return .int64(number) }
    case .double:
      if let number = json.number { return .double(number) }
    case .bytes:
      if let text = json.string, let data = Data(base64Encoded: text) { return .bytes(data) }
    case .timestamp:
      if let milliseconds = milliseconds(json, fraction) { return .timestamp(milliseconds) }
    case .location:
      if let object = json.object, let location = location(object, fraction) { return .location(location) }
    case .reference:
      if let object = json.object { return .reference(try reference(object)) }
    case .asset:
      if let object = json.object { return .asset(try asset(object)) }
    }
    throw .badRequest("Invalid value, expected type \(type.rawValue).")
  }

  /// By default, a fraction of a millisecond is rejected, not rounded. [L3] (Question 28)
  private static func milliseconds(_ json: JSON, _ fraction: EmulatorAssumptions.TimestampFraction) -> Int64? {
    if let milliseconds = json.integer { return milliseconds }
    guard fraction == .isDropped, let number = json.number else { return nil }
    return Int64(exactly: number.rounded(.down))
  }

  private static func location(
    _ object: JSONObject,
    _ fraction: EmulatorAssumptions.TimestampFraction
  ) -> EmulatorLocation? {
    // [D]; the bounds are those of the Earth. [E]
    guard let latitude = object["latitude"]?.number, let longitude = object["longitude"]?.number,
      abs(latitude) <= 90, abs(longitude) <= 180
    else { return nil }
    var details: [String: Double] = [:]
    for key in ["horizontalAccuracy", "verticalAccuracy", "altitude", "speed", "course"] {
      details[key] = object[key]?.number
    }
    if let timestamp = object["timestamp"] {
      // The largest times round up to 2^63, which could be stored and sent but not read.
      guard let time = milliseconds(timestamp, fraction).map(Double.init), time < 0x1p63 else { return nil }
      details["timestamp"] = time
    }
    return EmulatorLocation(latitude: latitude, longitude: longitude, details: details)
  }

  private static func reference(_ object: JSONObject) throws(ServerError) -> EmulatorReference {
    guard let name = object["recordName"]?.string, StoredRecord.isName(name) else {
      throw .badRequest("Invalid value, expected type REFERENCE.")
    }
    // References in filters have no action [D]; a field without one is accepted. [E]
    let action = object["action"]?.string ?? "NONE"
    guard let action = EmulatorReference.Action(rawValue: action) else {
      throw .badRequest("Unknown reference action '\(action)'")
    }
    return EmulatorReference(recordName: name, action: action)
  }
}

/// The `type` and `isEncrypted` keys of a field value.
private struct Tag {
  var type: CKSchema.ValueType?
  var isList: Bool
  var isEncrypted: Bool

  /// Bytes have a type of their own [L3]. Times and locations may have one, and are accepted with either. [E]
  private static let encrypted: [String: CKSchema.ValueType] = [
    "ENCRYPTED_BYTES": .bytes, "ENCRYPTED_TIMESTAMP": .timestamp, "ENCRYPTED_LOCATION": .location,
  ]

  var schemaField: CKSchema.FieldType? {
    type.map { CKSchema.FieldType($0, isList: isList, isEncrypted: isEncrypted) }
  }

  init?(_ object: JSONObject, field: String) throws(ServerError) {
    isEncrypted = object["isEncrypted"]?.bool ?? false
    guard let name = object["type"]?.string else {
      guard isEncrypted else { return nil }
      throw .badRequest("An encrypted value needs a type for field '\(field)'")
    }
    // The server returns an empty list of unknown type like this, so clients may send it too. [C]
    if name == "UNKNOWN_LIST" {
      guard object["value"]?.array?.isEmpty == true else { throw .badRequest("Unexpected input for field '\(field)'") }
      (type, isList) = (nil, false)
    } else if let known = Self.encrypted[name] {
      (type, isList, isEncrypted) = (known, false, true)
    } else if name == "ASSET" || name == "ASSET_LIST" {
      // The documented name. [D]
      (type, isList) = (.asset, name == "ASSET_LIST")
    } else if let known = CKSchema.FieldType(name: name), !known.isEncrypted {
      (type, isList) = (known.scalar, known.isList)
    } else {
      throw .badRequest("Unknown type '\(name)' of field '\(field)'")
    }
    // Neither type has an encrypted form in the schema language. [FW]
    if isEncrypted, let type, [.reference, .asset].contains(type) {
      throw .badRequest("Type '\(name)' of field '\(field)' cannot be encrypted")
    }
  }
}
