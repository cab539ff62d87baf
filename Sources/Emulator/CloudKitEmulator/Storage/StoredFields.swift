import Foundation
import JSONText

/// The fields of a record in a row: JSON as on the wire, but without the encryption, which the schema knows, and with
/// the ID of a file in place of the keys that depend on the request.
enum StoredFields {
  static func text(_ fields: RecordFields) -> String { JSON.object(FieldEncoding { $0.row }.fields(fields)).text }

  /// Reads the fields. The bytes may come from a damaged file, so everything is checked.
  static func fields(_ bytes: UnsafeRawBufferPointer) throws -> RecordFields {
    var json = JSONReader(bytes)
    var members: [RecordFields.Member] = []
    members.reserveCapacity(16)
    try json.enterObject()
    while let name = try json.nextKey()?.string() {
      let field = try JSON(json: &json)
      members.append(RecordFields.Member(name: name, value: try value(field, of: name), json: field))
    }
    try json.end()
    return RecordFields(sorted: members)
  }

  /// Reads the JSON of one field.
  static func value(_ json: JSON, of name: String) throws -> EmulatorValue {
    let asset = { (object: JSONObject, _: String) throws(ServerError) in
      guard let asset = EmulatorAsset(row: object) else { throw .badRequest("Unexpected input for field '\(name)'") }
      return asset
    }
    let field = try FieldDecoding.field(name, json, known: nil, fraction: .isRefused, asset: asset)
    guard case .set(let value, _) = field else { throw DamagedRow() }
    return value
  }
}

extension EmulatorAsset {
  fileprivate var row: JSONObject {
    ["fileChecksum": .string(fileChecksum), "size": .int(Int64(size)), "id": .string(id)]
  }

  fileprivate init?(row: JSONObject) {
    guard let checksum = row["fileChecksum"]?.string, let size = row["size"]?.integer, let id = row["id"]?.string
    else { return nil }
    self.init(fileChecksum: checksum, size: Int(size), id: id)
  }
}
