import CloudKitSchema
import JSONText

/// One committed version of a record. Versions are immutable: a write replaces the whole object.
final class StoredRecord: Sendable {
  /// The time of a write and its user.
  struct Stamp: Sendable, Hashable {
    var milliseconds: Int64
    var userRecordName: String
  }

  /// The part of a record that the client sets. The server adds the rest at the commit.
  struct Content: Sendable {
    var name: String
    var type: String
    var fields = RecordFields()
    var parent: String?
    var shortGUID: String?
    /// The name of the record's share, if the record is the root of one.
    var share: String?
    /// The share's state, if the record is a share.
    var sharing: StoredShare?

    /// The number of bytes that count against the record size limit. How the real service counts is unknown. [E]
    var size: Int {
      fields.reduce(name.utf8.count + type.utf8.count) { $0 + $1.name.utf8.count + $1.value.size }
    }

    /// The references in all fields, including lists.
    var references: [EmulatorReference] {
      var found: [EmulatorReference] = []
      forEachValue(of: .reference) { if case .reference(let reference) = $0 { found.append(reference) } }
      return found
    }

    /// The IDs of the assets in all fields, including lists.
    var assets: Set<String> {
      var found: Set<String> = []
      forEachValue(of: .asset) { if case .asset(let asset) = $0 { found.insert(asset.id) } }
      return found
    }

    /// Visits the elements of lists of a type, and all values that are no lists.
    private func forEachValue(of type: CKSchema.ValueType, _ body: (EmulatorValue) -> Void) {
      for field in fields {
        switch field.value {
        case .list(let element, let elements): if element == type { elements.forEach(body) }
        default: body(field.value)
        }
      }
    }
  }

  let content: Content
  let tag: String
  /// The zone's counter at the commit of this version.
  let sequence: Int64
  let created: Stamp
  let modified: Stamp
  /// The share that the record last left. Its participants must learn that they can no longer see the record.
  let formerShare: String?

  var name: String { content.name }
  var type: String { content.type }

  init(content: Content, tag: String, sequence: Int64, created: Stamp, modified: Stamp, formerShare: String? = nil) {
    self.content = content
    self.tag = tag
    self.sequence = sequence
    self.created = created
    self.modified = modified
    self.formerShare = formerShare
  }

  /// Returns the same version at another place in the change feed.
  func moved(to sequence: Int64? = nil, formerShare: String?) -> StoredRecord {
    StoredRecord(
      content: content,
      tag: tag,
      sequence: sequence ?? self.sequence,
      created: created,
      modified: modified,
      formerShare: formerShare
    )
  }

  /// Returns the record dictionary of a response (reference 2.4) [D], with the keys observed in addition [L3]. Fields
  /// are sorted by name, so that equal states give equal bytes.
  func json(keys: Set<String>?, zoneID: JSON, schema: CKSchema.RecordType?, encoding: FieldEncoding) -> JSONObject {
    let fields = encoding.fields(content.fields, keys: keys, schema: schema)
    var object: JSONObject = [
      "recordName": .string(name), "recordType": .string(type), "fields": .object(fields), "pluginFields": .object([:]),
      "recordChangeTag": .string(tag), "created": created.json, "modified": modified.json, "deleted": .bool(false),
      "zoneID": zoneID,
    ]
    object.append("parent", content.parent.map { .object(["recordName": .string($0)]) })
    object.append("shortGUID", content.shortGUID.map { .string($0) })
    return object
  }
}

extension StoredRecord.Stamp {
  var json: JSON {
    .object([
      "timestamp": .int(milliseconds), "userRecordName": .string(userRecordName), "deviceID": .string("1"),
    ])
  }
}

extension StoredRecord {
  /// Whether the name has 1 to 255 ASCII characters and no control characters. This is the framework's rule for record
  /// and zone names. The emulator enforces it because it makes binary comparison and Swift's string comparison agree.
  /// [E]
  static func isName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255 && name.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F }
  }
}
