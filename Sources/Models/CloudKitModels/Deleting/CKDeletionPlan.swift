public import CloudKit

/// The records that a deletion with a cascade would delete. They are deleted in any version.
///
/// ```swift
/// let plan = try await database.plan(deleting: department, cascade: .children)
/// for record in plan.records { print(record.recordType, record.recordID.recordName, record.reason) }
/// let report = try await database.delete(plan)
/// ```
public struct CKDeletionPlan: Sendable {
  /// The reason why a record is deleted.
  public enum Reason: Hashable, Sendable {
    /// The caller named it.
    case requested
    /// This record refers to it.
    case target(of: CKRecord.ID)
    /// This record is its parent, or the target of its `deleteSelf` reference.
    case child(of: CKRecord.ID)
  }

  /// A record to delete.
  public struct Record: Hashable, Sendable {
    /// Its ID.
    public let recordID: CKRecord.ID
    /// Its type.
    public let recordType: CKRecord.RecordType
    /// The reason why it is deleted.
    public let reason: Reason
  }

  /// The records that exist, in the order in which they are deleted: children, and records that refer by `deleteSelf`
  /// or `VALIDATE`, before what they refer to; other targets before the records that refer to them.
  ///
  /// The server also deletes records that refer to one of these with `deleteSelf`. They are included only with
  /// ``CKCascade/children``.
  public var records: [Record] { steps.flatMap(\.self) }

  /// The records in groups. Those of a group do not depend on each other.
  let steps: [[Record]]

  /// Whether one atomic request can delete all of them.
  package var fitsAtomicRequest: Bool { requests.count == 1 && requests[0].isAtomic }

  /// The requests that carry out the plan: atomic ones in custom zones, as few as the limit allows. Elsewhere each
  /// group waits for the one before.
  var requests: [(records: [Record], isAtomic: Bool)] {
    let custom = records.filter { $0.recordID.zoneID.zoneName != CKRecordZone.ID.defaultZoneName }
    let zones = Dictionary(grouping: custom, by: \.recordID.zoneID).sorted { $0.key.zoneName < $1.key.zoneName }
    let others = steps.map { step in
      step.filter { $0.recordID.zoneID.zoneName == CKRecordZone.ID.defaultZoneName }
    }
    return zones.flatMap { $0.value.requests.map { ($0, true) } } + others.flatMap { $0.requests.map { ($0, false) } }
  }
}

/// The result of a deletion with a cascade.
public struct CKDeletionReport: Sendable {
  /// The result for one record.
  public enum Outcome: Sendable {
    /// It is deleted, or was not there any more.
    case deleted
    /// The server refused to delete it, or the reply was lost (`CKError.serverResponseLost`).
    case failed(any Error)
    /// It was kept, because another record could not be deleted.
    case kept
  }

  /// Each record of the plan with its result, in the plan's order.
  public let results: [(record: CKDeletionPlan.Record, outcome: Outcome)]

  /// The records that are deleted.
  public var deleted: [CKRecord.ID] {
    results.compactMap { if case .deleted = $0.outcome { $0.record.recordID } else { nil } }
  }

  /// The first error; nil if all records are deleted. If the server refused all without naming one, it is
  /// `CKError.batchRequestFailed`.
  public var error: (any Error)? {
    for case (_, .failed(let error)) in results { return error }
    return deleted.count == results.count
      ? nil : CKError(.batchRequestFailed, "The server refused the deletion without naming a record.")
  }
}
