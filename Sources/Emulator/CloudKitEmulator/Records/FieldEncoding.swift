import CloudKitSchema
import Foundation
import JSONText

/// Encodes stored values as in responses: each value with its type. [D]
struct FieldEncoding {
  /// Whether INT64, DOUBLE [D] and TIMESTAMP [E] values are encoded as strings, for clients whose numbers are doubles.
  var numbersAsStrings = false
  /// The type of an encrypted TIMESTAMP or LOCATION.
  var encryptedType = EmulatorAssumptions.EncryptedType.plain
  /// Encodes a file. Responses add its download URL.
  var asset: (EmulatorAsset) -> JSONObject = { $0.json }

  /// Returns the `fields` of a record, sorted by name.
  ///
  /// - Parameter keys: The names of the wanted fields; `nil` for all.
  func fields(_ fields: RecordFields, keys: Set<String>? = nil, schema: CKSchema.RecordType? = nil) -> JSONObject {
    var object = JSONObject()
    for field in fields where keys?.contains(field.name) ?? true {
      let isEncrypted = schema?.fields[field.name]?.type.isEncrypted ?? false
      let stored = isEncrypted || numbersAsStrings || field.value.isAsset ? nil : field.json
      object.append(field.name, stored ?? self.field(field.value, isEncrypted: isEncrypted))
    }
    return object
  }

  func field(_ value: EmulatorValue, isEncrypted: Bool) -> JSON {
    var object: JSONObject = ["value": bare(value)]
    switch value {
    case .list(let type?, let elements) where !elements.isEmpty:
      object.append("type", .string(CKSchema.FieldType(type, isList: true).name))
    // [C]
    case .list: object.append("type", .string("UNKNOWN_LIST"))
    // [L3]
    case .bytes where isEncrypted: object.append("type", .string("ENCRYPTED_BYTES"))
    case .timestamp where isEncrypted && encryptedType == .ofItsOwn:
      object.append("type", .string("ENCRYPTED_TIMESTAMP"))
    case .location where isEncrypted && encryptedType == .ofItsOwn:
      object.append("type", .string("ENCRYPTED_LOCATION"))
    default: object.append("type", value.scalarType.map { .string($0.rawValue) })
    }
    if isEncrypted { object.append("isEncrypted", .bool(true)) }
    return .object(object)
  }

  func bare(_ value: EmulatorValue) -> JSON {
    switch value {
    case .string(let text): .string(text)
    case .int64(let number), .timestamp(let number): numbersAsStrings ? .string(String(number)) : .int(number)
    case .double(let number): numbersAsStrings ? .string(String(number)) : .double(number)
    case .bytes(let data): .string(data.base64EncodedString())
    case .location(let location): .object(object(location))
    case .reference(let reference):
      .object(["recordName": .string(reference.recordName), "action": .string(reference.action.rawValue)])
    case .asset(let file): .object(asset(file))
    case .list(_, let elements): .array(elements.map { bare($0) })
    }
  }

  private func object(_ location: EmulatorLocation) -> JSONObject {
    var object: JSONObject = ["latitude": .double(location.latitude), "longitude": .double(location.longitude)]
    for (key, value) in location.details.sorted(by: { $0.key < $1.key }) {
      object.append(key, key == "timestamp" ? Int64(exactly: value).map { .int($0) } ?? .double(value) : .double(value))
    }
    return object
  }
}
