internal import Synchronization

extension CKDatabase {
  /// The request that makes a share, with the version of its root that the share is for; nil where that is not to be had,
  /// which is told as the share's failure.
  ///
  /// A share names its root by the change tag of the saved root, which is known once the root's own save is answered.
  /// That is why the two cannot travel in one request, although callers hand them over in one call.
  func namingRoot(in request: ModifyPlan.Request, _ outcome: inout ModifyOutcome) async -> ModifyPlan.Request? {
    guard var change = request.changes.first, let rootID = request.sharedRootID else { return request }
    let root: Result<CKRecord, any Error>
    if let saved = outcome.saves[rootID] {
      root = saved.mapError { _ in CKError(.batchRequestFailed, "The root of the share was not saved.") }
    } else {
      // Not part of this call: the tag that the caller knows may be an old one.
      do {
        root =
          try await readRecords(for: [rootID], desiredKeys: [])[rootID]
          ?? .failure(CKError(.unknownItem, "There is no root of this name."))
      } catch { root = .failure(error) }
    }
    do {
      guard let tag = try root.get().recordChangeTag else {
        throw CKError(.internalError, "The root of the share has no change tag.")
      }
      change = try change.asking { record in
        var sharing = record.sharing ?? WireSharing()
        sharing.forRecord = WireShareRoot(recordName: rootID.recordName, recordChangeTag: tag)
        record.sharing = sharing
      }
    } catch {
      outcome.fail(change, error as? CKError ?? CKError(.internalError, "The root of the share could not be read."))
      return nil
    }
    var request = request
    request.changes = [change]
    return request
  }

  /// Brings roots up to date that were saved in this call, before their share was made or deleted: the server changes
  /// their `share`, and with it their change tag.
  func refreshRoots(of newShares: [ModifyPlan.Request], _ outcome: ModifyOutcome) async {
    guard !outcome.deletes.isEmpty || !newShares.isEmpty else { return }
    var stale: [CKRecordID: CKRecord] = [:]
    for case .success(let record) in outcome.saves.values {
      if let shareID = record.share?.recordID, case .success? = outcome.deletes[shareID] {
        record.state.withLock { $0.share = nil }
        stale[record.recordID] = record
      }
    }
    for request in newShares {
      guard let rootID = request.sharedRootID, let shareID = request.changes.first?.id,
        case .success? = outcome.saves[shareID], case .success(let root)? = outcome.saves[rootID]
      else { continue }
      root.state.withLock { $0.share = CKReference(recordID: shareID, action: .none) }
      stale[rootID] = root
    }
    guard !stale.isEmpty, let fresh = try? await records(for: Array(stale.keys)) else { return }
    for (id, root) in stale {
      guard case .success(let server)? = fresh[id] else { continue }
      let state = server.snapshot
      root.state.withLock { $0 = $0.refreshed(from: state) }
    }
  }
}

extension ModifyPlan.Request {
  /// The root of the share that this request makes; nil where it makes none, or shares a zone as a whole.
  var sharedRootID: CKRecordID? {
    guard makesShare, let change = changes.first, case .save(_, let sent) = change.kind,
      let name = sent.sharing?.rootRecordName
    else { return nil }
    return CKRecordID(recordName: name, zoneID: zoneID)
  }
}
