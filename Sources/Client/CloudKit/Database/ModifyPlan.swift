internal import Foundation
import JSONText

/// A plan that splits the changes of one call into requests. It sends nothing.
///
/// A request has one zone. An atomic group must fit into one request; other changes are split at 200 operations or 1.5
/// MB of JSON, whichever comes first (reference 4).
struct ModifyPlan {
  /// One change, with the data to interpret its reply. It is a class because up to ten thousand of them are moved
  /// between lists.
  final class Change: Sendable {
    enum Kind: Sendable {
      case save(CKRecord, sent: RecordState)
      case delete
    }

    let id: CKRecordID
    let kind: Kind
    let operation: WireRecordOperation
    /// The encoded operation. It is encoded once, because it is measured before it is sent.
    let json: JSONFragment
    /// The names of the records that must exist before it is saved, in any zone: its parent, and the targets of
    /// `VALIDATE` references. The server accepts other references in any order.
    let targets: [String]

    init(id: CKRecordID, kind: Kind, operation: WireRecordOperation) throws(CKError) {
      self.id = id
      self.kind = kind
      self.operation = operation
      let record = operation.record
      targets =
        record.fields.values.flatMap(\.references).filter { $0.action == "VALIDATE" }.map(\.recordName)
        + (record.parent.map { [$0.recordName] } ?? [])
      do {
        json = try JSONFragment(operation)
      } catch {
        throw .invalidArguments("The record \(record.recordName) cannot be encoded: \(error.reason).")
      }
    }

    /// Returns the same change with a modified record.
    func withRecord(_ change: (inout WireRecord) -> Void) throws(CKError) -> Change {
      var operation = operation
      change(&operation.record)
      return try Change(id: id, kind: kind, operation: operation)
    }
  }

  struct Request: Sendable {
    let zoneID: CKRecordZoneID
    let atomic: Bool
    var changes: [Change]
    /// Whether this request creates a share, which waits until its root is saved.
    var makesShare = false
  }

  private(set) var requests: [Request] = []
  /// The errors of changes that are not sent.
  private(set) var unsendable: [CKRecordID: CKError] = [:]

  /// - Throws: `CKError.invalidArguments` if a record appears twice, `limitExceeded` if an atomic group is too large.
  init(
    saving records: [CKRecord],
    deleting ids: [CKRecordID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy,
    atomically: Bool
  ) async throws(CKError) {
    var seen: Set<CKRecordID> = []
    for id in records.map(\.recordID) + ids where !seen.insert(id).inserted {
      throw .invalidArguments("The record \(id.recordName) appears twice in one call.")
    }
    var changes: [Change] = []
    var newShares: [Request] = []
    for (record, save) in zip(records, await Self.saves(of: records, savePolicy)) {
      do throws(CKError) {
        let change = try save.get()
        if change.operation.operationType == .create, change.operation.record.sharing != nil {
          // The protocol creates shares in atomic requests after their roots (reference 5.3), so they are outside any
          // other group.
          newShares.append(Request(zoneID: change.id.zoneID, atomic: true, changes: [change], makesShare: true))
        } else {
          changes.append(change)
        }
      } catch {
        unsendable[record.recordID] = error
      }
    }
    for id in ids {
      let operation = WireRecordOperation(.forceDelete, WireRecord(recordName: id.recordName))
      changes.append(try Change(id: id, kind: .delete, operation: operation))
    }
    let roots = Set(newShares.compactMap(\.sharedRootID))
    for index in changes.indices where !roots.isEmpty && roots.contains(changes[index].id) {
      changes[index] = try changes[index].withRecord { $0.sharing = .askingForShortGUID }
    }
    let unsendableZones = Set(unsendable.keys.map(\.zoneID))
    for (zoneID, changes) in changes.grouped(by: \.id.zoneID) {
      // A default zone has no atomic groups: the server would ignore the setting.
      let atomic = atomically && !zoneID.isDefault
      if atomic, unsendableZones.contains(zoneID) {
        for change in changes {
          unsendable[change.id] = CKError(.batchRequestFailed, "Another record of the atomic group cannot be sent.")
        }
        continue
      }
      var cut = Self.cut(changes)
      // Deletions wait for saves, so requests for both would wait for each other.
      if !atomic, cut.count > 1 {
        cut = Self.cut(Self.ordered(changes.filter { !$0.isDelete })) + Self.cut(changes.filter(\.isDelete))
      }
      guard !atomic || cut.count <= 1 else {
        throw CKError(
          .limitExceeded,
          "An atomic group of \(changes.count) changes in the zone \(zoneID.zoneName) does not fit into one request "
            + "(\(CKDatabase.largestBatch) changes, \(CKDatabase.largestBody) bytes). Save fewer, or not atomically."
        )
      }
      requests += cut.map { Request(zoneID: zoneID, atomic: atomic, changes: $0) }
    }
    requests += newShares
  }

  /// Takes the requests in waves. The requests of a wave can be sent together; each wave waits for the previous one.
  ///
  /// A request comes after those that save the parents and `VALIDATE` targets of its records. Requests that delete come
  /// after those that only save, and new shares come last.
  mutating func takeWaves() -> [[Request]] {
    defer { requests = [] }
    var levels = requests.map { _ in 0 }
    // The changes of a zone are in order, so only earlier requests save what a request needs.
    var savedIn: [CKRecordID: Int] = [:]
    for index in requests.indices where !requests[index].deletes && !requests[index].makesShare {
      for change in requests[index].changes {
        for target in change.targets {
          guard let earlier = savedIn[CKRecordID(recordName: target, zoneID: change.id.zoneID)], earlier != index else {
            continue
          }
          levels[index] = max(levels[index], levels[earlier] + 1)
        }
      }
      for change in requests[index].changes { savedIn[change.id] = index }
    }
    var last = levels.max() ?? 0
    if requests.contains(where: { !$0.deletes && !$0.makesShare }) { last += 1 }
    for index in requests.indices where requests[index].deletes { levels[index] = last }
    for index in requests.indices where requests[index].makesShare { levels[index] = last + 1 }
    return Dictionary(grouping: requests.indices) { levels[$0] }.sorted { $0.key < $1.key }
      .map { $0.value.map { requests[$0] } }
  }

  /// Orders the saves of a zone: each comes after those of its parent and `VALIDATE` targets, wherever they are in the
  /// call. Others stay in the caller's order.
  private static func ordered(_ changes: [Change]) -> [Change] {
    let places = Dictionary(changes.enumerated().map { ($1.id.recordName, $0) }) { first, _ in first }
    return dependencyOrder(changes.map { Set($0.targets.compactMap { places[$0] }) }).map { changes[$0] }
  }

  /// Encodes the changes that save records, in parallel.
  private static func saves(
    of records: [CKRecord],
    _ savePolicy: CKModifyRecordsOperation.RecordSavePolicy
  ) async -> [Result<Change, CKError>] {
    let batches = await records.requests.concurrently { batch in
      batch.map { record in
        Result { () throws(CKError) in
          var (operation, sent) = try record.saveOperation(savePolicy)
          if sent.sharing != nil, sent.changeTag == nil { operation.operationType = .create }
          return try Change(id: record.recordID, kind: .save(record, sent: sent), operation: operation)
        }
      }
    }
    return batches.flatMap(\.self)
  }

  private static func cut(_ changes: [Change]) -> [[Change]] {
    changes.batches(upTo: CKDatabase.largestBody) { $0.json.count }
  }
}

extension ModifyPlan.Request {
  var deletes: Bool { changes.contains(where: \.isDelete) }

  /// A request for the deletions that the server rejected because other records refer to them; nil if there are none.
  func refused(in outcome: ModifyOutcome) -> ModifyPlan.Request? {
    var request = self
    request.changes = changes.filter { change in
      guard change.isDelete, case .failure(let error as CKError)? = outcome.deletes[change.id] else { return false }
      return error.code == .referenceViolation
    }
    return request.changes.isEmpty ? nil : request
  }
}

extension ModifyPlan.Change {
  var isDelete: Bool { if case .delete = kind { true } else { false } }
}
