import CloudKit
import Facts

@testable import CloudSync

extension ZoneKey {
  static let one = ZoneKey(zone: "one")
  static let two = ZoneKey(zone: "two")
}

extension QueuedOperation {
  /// A save, pending unless said otherwise.
  static func save(
    _ name: String,
    in zone: ZoneKey = .one,
    type: String = "Note",
    referringTo target: String? = nil,
    id: Int64 = 0,
    phase: QueuedOperation.Phase = .pending,
    doubt: QueuedOperation.Doubt = .init(),
    bisection: QueuedOperation.Bisection? = nil
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
      phase: phase,
      cause: .ready,
      generation: 1,
      doubt: doubt,
      maxAttempts: 8,
      enqueuedAt: 100,
      editedAt: 100,
      bytes: 10,
      bisection: bisection
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
