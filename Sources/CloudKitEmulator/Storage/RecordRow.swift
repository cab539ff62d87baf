import Foundation

/// Spells a record as the body of its row. The name and the sequence have columns of their own.
enum RecordRow {
  /// A row that this code cannot have written.
  struct Damaged: Error {
    var name: String
  }

  static func json(_ record: StoredRecord) -> JSONObject {
    let encoding = FieldEncoding(asset: { asset in
      ["id": .string(asset.id), "checksum": .string(asset.fileChecksum), "size": .int(Int64(asset.size))]
    })
    var fields = JSONObject()
    for (name, value) in record.content.fields {
      let type: String
      if case .list(let element, _) = value {
        type = (element?.rawValue ?? "") + "_LIST"
      } else {
        type = value.scalarType?.rawValue ?? ""
      }
      fields.append(name, .array([.string(type), encoding.bare(value)]))
    }
    var object: JSONObject = [
      "type": .string(record.type), "tag": .string(record.tag), "fields": .object(fields),
      "created": stamp(record.created), "modified": stamp(record.modified),
    ]
    object.append("parent", record.content.parent.map { .string($0) })
    object.append("shortGUID", record.content.shortGUID.map { .string($0) })
    object.append("share", record.content.share.map { .string($0) })
    object.append("sharing", record.content.sharing?.row)
    object.append("left", record.left.map { .string($0) })
    return object
  }

  static func record(_ object: JSONObject, name: String, sequence: Int64) throws -> StoredRecord {
    guard let type = object["type"]?.string, let tag = object["tag"]?.string, let fields = object["fields"]?.object,
      let created = stamp(object["created"]), let modified = stamp(object["modified"])
    else { throw Damaged(name: name) }
    var content = StoredRecord.Content(name: name, type: type)
    content.parent = object["parent"]?.string
    content.shortGUID = object["shortGUID"]?.string
    content.share = object["share"]?.string
    if let sharing = object["sharing"]?.object {
      guard let state = ShareState(row: sharing) else { throw Damaged(name: name) }
      content.sharing = state
    }
    for member in fields.members {
      guard let pair = member.value.array, pair.count == 2, let type = pair[0].string else { throw Damaged(name: name) }
      content.fields[member.key] = try value(pair[1], type: type, name: name)
    }
    return StoredRecord(
      content: content,
      tag: tag,
      sequence: sequence,
      created: created,
      modified: modified,
      left: object["left"]?.string
    )
  }

  private static func value(_ json: JSON, type: String, name: String) throws -> EmulatorValue {
    if type == "_LIST" { return .list(nil, []) }
    guard let field = Schema.Field(name: type) else { throw Damaged(name: name) }
    guard field.isList else { return try FieldDecoding.scalar(json, field.type, asset) }
    guard let elements = json.array else { throw Damaged(name: name) }
    return .list(field.type, try elements.map { try FieldDecoding.scalar($0, field.type, asset) })
  }

  private static func asset(_ object: JSONObject) throws(ServerError) -> EmulatorAsset {
    guard let id = object["id"]?.string, let checksum = object["checksum"]?.string, let size = object["size"]?.integer
    else { throw .badRequest("Not a stored file") }
    return EmulatorAsset(fileChecksum: checksum, size: Int(clamping: size), id: id)
  }

  private static func stamp(_ stamp: StoredRecord.Stamp) -> JSON {
    .array([.int(stamp.milliseconds), .string(stamp.userRecordName)])
  }

  private static func stamp(_ json: JSON?) -> StoredRecord.Stamp? {
    guard let pair = json?.array, pair.count == 2, let time = pair[0].integer, let user = pair[1].string else {
      return nil
    }
    return StoredRecord.Stamp(milliseconds: time, userRecordName: user)
  }
}
