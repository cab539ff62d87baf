import CloudKit
import Foundation
import JSONText

extension JSONField {
  /// The value of a record's field, or null if it is absent.
  static func field(_ field: @escaping @Sendable (Value) -> FieldValue?) -> Self {
    value { field($0).map { .field($0) } ?? .null }
  }

  /// The values of a record's fields by name.
  ///
  /// - Parameter namesFiles: whether an asset has the name of its file.
  static func fields(
    namesFiles: Bool = false,
    _ fields: @escaping @Sendable (Value) -> [String: FieldValue]
  ) -> Self {
    value { .fields(fields($0), namesFiles: namesFiles) }
  }
}

extension OutputJSON {
  /// A field as `{ "type": …, "value": … }`, in the encoding of the wire.
  ///
  /// - Parameter namesFiles: whether an asset has the name of its file.
  static func field(_ value: FieldValue, namesFiles: Bool = false) -> OutputJSON {
    ["type": .text(value.wireType), "value": bare(value, namesFiles)]
  }

  /// Fields by name, sorted by name.
  static func fields(_ fields: [String: FieldValue], namesFiles: Bool) -> OutputJSON {
    .object(JSONObject(fields.sorted { $0.key < $1.key }.map { ($0.key, field($0.value, namesFiles: namesFiles)) }))
  }

  private static func bare(_ value: FieldValue, _ namesFiles: Bool) -> OutputJSON {
    switch value {
    case .string(let text): .text(text)
    case .int64(let number), .timestamp(let number): .integer(number)
    case .double(let number): .number(number)
    case .bytes(let data): .text(data.base64EncodedString())
    case .location(let location): .object(object(location))
    case .reference(let reference): .object(object(reference))
    case .asset(let asset): .object(object(asset, namesFiles))
    case .list(_, let elements): .array(elements.map { bare($0, namesFiles) })
    case .encrypted(let value): bare(value, namesFiles)
    // Most readers of JSON would round it.
    case .other(_, .digits(let number)): .text(number)
    case .other(_, let value): value
    }
  }

  private static func object(_ location: WireLocation) -> JSONObject {
    var object: JSONObject = ["latitude": .number(location.latitude), "longitude": .number(location.longitude)]
    object["horizontalAccuracy"] = location.horizontalAccuracy.map(OutputJSON.number)
    object["verticalAccuracy"] = location.verticalAccuracy.map(OutputJSON.number)
    object["altitude"] = location.altitude.map(OutputJSON.number)
    object["speed"] = location.speed.map(OutputJSON.number)
    object["course"] = location.course.map(OutputJSON.number)
    object["timestamp"] = location.timestamp.map(OutputJSON.integer)
    return object
  }

  private static func object(_ reference: WireReference) -> JSONObject {
    var object: JSONObject = ["recordName": .text(reference.recordName)]
    if let zone = reference.zoneID {
      var zoneID: JSONObject = ["zoneName": .text(zone.zoneName)]
      zoneID["ownerRecordName"] = zone.ownerRecordName.map(OutputJSON.text)
      object["zoneID"] = .object(zoneID)
    }
    object["action"] = reference.action.map(OutputJSON.text)
    return object
  }

  /// Without receipt, keys and URL, which would give every reader of the output access to the asset.
  private static func object(_ asset: WireAsset, _ namesFiles: Bool) -> JSONObject {
    var object: JSONObject = ["fileChecksum": .optional(asset.fileChecksum), "size": .optional(asset.size)]
    if namesFiles { object["file"] = .optional(ExportedFiles.name(of: asset)) }
    return object
  }
}
