internal import Foundation

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
    /// The names of the records that must exist before it is saved, in any zone: its parent, and the targets of `VALIDATE`
    /// references. The server accepts other references in any order.
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
    func asking(_ change: (inout WireRecord) -> Void) throws(CKError) -> Change {
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

  static let largestBody = 1_500_000

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
      changes[index] = try changes[index].asking { $0.sharing = .askingForShortGUID }
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
        cut = Self.cut(changes.filter { !$0.isDelete }) + Self.cut(changes.filter(\.isDelete))
      }
      guard !atomic || cut.count <= 1 else {
        throw CKError(
          .limitExceeded,
          "An atomic group of \(changes.count) changes in the zone \(zoneID.zoneName) does not fit into one request "
            + "(\(CKDatabase.largestBatch) changes, \(Self.largestBody) bytes). Save fewer, or not atomically."
        )
      }
      requests += cut.map { Request(zoneID: zoneID, atomic: atomic, changes: $0) }
    }
    requests += newShares
  }

  /// Takes the requests in waves. The requests of a wave can be sent together; each wave waits for the previous one.
  ///
  /// A request comes after those that save the parents and `VALIDATE` targets of its records, wherever they are in the
  /// call. Requests that delete come after those that only save, and new shares come last.
  mutating func takeWaves() -> [[Request]] {
    defer { requests = [] }
    let savers = requests.indices.reduce(into: [String: [Int]]()) { savers, index in
      for change in requests[index].changes where !change.isDelete {
        savers[change.id.recordName, default: []].append(index)
      }
    }
    var levels: [Int?] = requests.map { _ in nil }
    var isVisited = requests.map { _ in false }
    func level(of index: Int) -> Int {
      if let level = levels[index] { return level }
      // Requests that wait for each other are sent in the caller's order.
      guard !isVisited[index] else { return -1 }
      isVisited[index] = true
      var needed = Set(requests[index].changes.flatMap(\.targets).flatMap { savers[$0] ?? [] })
      if requests[index].makesShare {
        needed.formUnion(requests.indices.filter { !requests[$0].makesShare })
      } else if requests[index].deletes {
        needed.formUnion(requests.indices.filter { !requests[$0].makesShare && !requests[$0].deletes })
      }
      let level = needed.subtracting([index]).sorted().map(level).max().map { $0 + 1 } ?? 0
      levels[index] = level
      return level
    }
    let waves = Dictionary(grouping: requests.indices, by: level)
    return waves.sorted { $0.key < $1.key }.map { $0.value.sorted().map { requests[$0] } }
  }

  /// Encodes the changes that save records, in parallel.
  private static func saves(
    of records: [CKRecord],
    _ savePolicy: CKModifyRecordsOperation.RecordSavePolicy
  ) async -> [Result<Change, CKError>] {
    let batches = await records.chunks(of: CKDatabase.largestBatch).concurrently { batch in
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
    var requests: [[Change]] = []
    var bytes = 0
    for change in changes {
      let size = change.json.count
      if let last = requests.last, last.count < CKDatabase.largestBatch, bytes + size <= largestBody {
        requests[requests.count - 1].append(change)
        bytes += size
      } else {
        requests.append([change])
        bytes = size
      }
    }
    return requests
  }
}

extension ModifyPlan.Request {
  fileprivate var deletes: Bool { changes.contains(where: \.isDelete) }
}

extension ModifyPlan.Change {
  var isDelete: Bool { if case .delete = kind { true } else { false } }
}
