import CloudKit
import CloudSync
import Facts

extension RecordRow {
  /// The record as JSON.
  var json: JSONObject {
    var object = record.json(changeTag: changeTag)
    object["pending"] = .bool(operation != nil)
    object["operation"] = .optional(operation)
    object["state"] = .optional(operationState?.rawValue)
    return object
  }
}

extension MirrorRecord {
  /// The server's record as JSON: nothing is pending.
  var serverJSON: JSONObject {
    var object = json(changeTag: changeTag)
    object["pending"] = false
    object["operation"] = .null
    object["state"] = .null
    return object
  }

  fileprivate func json(changeTag: String?) -> JSONObject {
    [
      "recordName": .text(key.name), "recordType": .text(type), "zone": .text(key.zone),
      "owner": .unlessEmpty(key.owner), "changeTag": .optional(changeTag),
      "fields": .fields(fields), "createdAt": .time(createdAt), "modifiedAt": .time(modifiedAt),
      "modifiedBy": .optional(modifiedBy),
    ]
  }
}

extension ZoneRow {
  /// The zone as JSON.
  var json: JSONObject {
    [
      "zone": .text(key.zone), "owner": .unlessEmpty(key.owner),
      "records": .integer(Int64(records)), "tokenAt": .time(tokenAt), "lastFetchAt": .time(lastFetchAt),
      "state": .text(state), "heldDeletions": held.map { .integer(Int64($0.records)) } ?? .null,
      "paused": .bool(isPaused),
      "onHold": .integer(Int64(held?.records ?? 0)), "version": .optional(held?.version),
    ]
  }
}

extension FieldValue {
  /// The value in one line for people.
  var text: String {
    switch self {
    case .string(let text): text
    case .int64(let number): String(number)
    case .double(let number): String(number)
    case .bytes(let data): "\(data.count) bytes"
    case .timestamp(let milliseconds): RFC3339.text(milliseconds: milliseconds) ?? String(milliseconds)
    case .location(let place): "\(place.latitude),\(place.longitude)"
    case .reference(let reference): "→ \(reference.recordName)"
    case .asset(let asset): "asset, \(asset.size.map { "\($0) bytes" } ?? "size unknown")"
    case .list(_, let elements): "[" + elements.map(\.text).joined(separator: ", ") + "]"
    case .encrypted(let value): value.text
    case .other(let type, _): type
    }
  }
}

extension [String: FieldValue] {
  /// All fields in one line, by name.
  var text: String { sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }.joined(separator: "  ") }
}
