internal import Foundation

/// Cuts the changes of one call into requests. It sends nothing.
///
/// A request goes to one zone. An atomic group is one request or none; anything else is cut at 200 operations and at
/// 1.5 MB of JSON, whichever comes first (reference 4).
struct ModifyPlan {
  /// One change, with what is needed to read its answer.
  struct Change: Sendable {
    enum Kind: Sendable {
      case save(CKRecord, sent: RecordState)
      case delete
    }

    let id: CKRecordID
    let kind: Kind
    var operation: WireRecordOperation
  }

  struct Request: Sendable {
    let zoneID: CKRecordZoneID
    let atomic: Bool
    var changes: [Change]
    /// Whether this is the one change that makes a share, which waits for its root's save.
    var makesShare = false
  }

  private(set) var requests: [Request] = []
  /// Changes that are not sent, and why.
  private(set) var unsendable: [CKRecordID: CKError] = [:]

  static let largestBody = 1_500_000

  /// - Throws: `CKError.invalidArguments` when a record appears twice, `limitExceeded` when an atomic group is too large.
  init(
    saving records: [CKRecord],
    deleting ids: [CKRecordID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy,
    atomically: Bool
  ) throws(CKError) {
    var seen: Set<CKRecordID> = []
    for id in records.map(\.recordID) + ids where !seen.insert(id).inserted {
      throw .invalidArguments("The record \(id.recordName) is changed twice in one call.")
    }
    var changes: [Change] = []
    var newShares: [Request] = []
    for record in records {
      do throws(CKError) {
        var (operation, sent) = try record.saveOperation(savePolicy)
        let isNewShare = sent.sharing != nil && sent.changeTag == nil
        if isNewShare { operation.operationType = .create }
        let change = Change(id: record.recordID, kind: .save(record, sent: sent), operation: operation)
        if isNewShare {
          // The protocol makes shares in atomic requests after their roots' (reference 5.3), so outside any other group.
          newShares.append(Request(zoneID: change.id.zoneID, atomic: true, changes: [change], makesShare: true))
        } else {
          changes.append(change)
        }
      } catch {
        unsendable[record.recordID] = error
      }
    }
    changes += ids.map {
      Change(id: $0, kind: .delete, operation: WireRecordOperation(.forceDelete, WireRecord(recordName: $0.recordName)))
    }
    let roots = Set(newShares.compactMap(\.sharedRootID))
    for index in changes.indices where roots.contains(changes[index].id) {
      changes[index].operation.record.sharing = .askingForShortGUID
    }
    let spoiled = Set(unsendable.keys.map(\.zoneID))
    for (zoneID, changes) in changes.grouped(by: \.id.zoneID) {
      // A default zone has no atomic groups: the server would ignore the wish.
      let atomic = atomically && !zoneID.isDefault
      if atomic, spoiled.contains(zoneID) {
        for change in changes {
          unsendable[change.id] = CKError(.batchRequestFailed, "Another record of the atomic group cannot be sent.")
        }
        continue
      }
      let cut = Self.cut(changes)
      guard !atomic || cut.count <= 1 else {
        throw CKError(
          .limitExceeded,
          "An atomic group of \(changes.count) changes in the zone \(zoneID.zoneName) does not fit into one request "
            + "(\(CKDatabase.largestBatch) changes, \(Self.largestBody) bytes): save fewer, or not atomically."
        )
      }
      requests += cut.map { Request(zoneID: zoneID, atomic: atomic, changes: $0) }
    }
    requests += newShares
  }

  /// The requests in groups that can be under way together, one group after the other.
  ///
  /// A request comes after those that save what it refers to, and one that deletes, or makes a share, after all others.
  var waves: [[Request]] {
    var waves: [[Request]] = []
    var saved: Set<CKRecordID> = []
    for request in requests {
      let waits = request.makesShare || request.deletes || !saved.isDisjoint(with: request.targets)
      if waves.isEmpty || waits {
        waves.append([])
        saved = []
      }
      waves[waves.count - 1].append(request)
      saved.formUnion(request.changes.map(\.id))
    }
    return waves
  }

  private static func cut(_ changes: [Change]) -> [[Change]] {
    var requests: [[Change]] = []
    var bytes = 0
    var json = JSONWriter()
    for change in changes {
      json.clear()
      change.operation.write(to: &json)
      let size = json.count
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
  fileprivate var deletes: Bool {
    changes.contains { change in
      if case .delete = change.kind { true } else { false }
    }
  }

  /// The records that the saved ones refer to.
  fileprivate var targets: Set<CKRecordID> {
    var targets: Set<CKRecordID> = []
    for case .save(_, let sent) in changes.map(\.kind) {
      if let parent = sent.parent { targets.insert(parent.recordID) }
      for key in sent.changedKeys {
        switch sent.fields[key]?.object {
        case let reference as CKReference: targets.insert(reference.recordID)
        case let list as NSArray: for case let reference as CKReference in list { targets.insert(reference.recordID) }
        default: break
        }
      }
    }
    return targets
  }
}
