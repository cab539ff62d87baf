import CloudKit
import Facts

@testable import CloudSync

extension ZoneKey {
  static let one = ZoneKey(zone: "one")
  static let two = ZoneKey(zone: "two")
}

extension QueuedOperation {
  /// A pending save, as it is put in.
  static func save(
    _ name: String,
    in zone: ZoneKey = .one,
    type: String = "Note",
    referringTo target: String? = nil,
    id: Int64 = 0
  ) -> QueuedOperation {
    var values: [String: FieldValue] = ["title": .string("save \(name)")]
    if let target { values["link"] = .reference(WireReference(recordName: target, action: "VALIDATE")) }
    return QueuedOperation(
      id: id,
      kind: .save,
      key: RecordKey(zone, name),
      type: name.isEmpty ? nil : type,
      changes: FieldChanges(values: values),
      base: [:],
      state: .pending,
      cause: .ready,
      generation: 1,
      needsReadBack: false,
      conflictRounds: 0,
      attempts: 0,
      maxAttempts: 8,
      enqueuedAt: 100,
      editedAt: 100,
      bytes: 10
    )
  }
}

extension MirrorRecord {
  static func note(_ name: String, in zone: ZoneKey = .one, type: String = "Note", tag: String = "1") -> MirrorRecord {
    MirrorRecord(
      key: RecordKey(zone, name),
      type: type,
      changeTag: tag,
      fields: ["title": .string(name), "kept": .int64(1)],
      createdAt: 1,
      modifiedAt: 2,
      modifiedBy: "ana"
    )
  }
}
