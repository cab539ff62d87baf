internal import Synchronization

extension CKDatabase {
  /// Returns the request that creates a share, completed with the change tag of its root record; nil if the tag cannot
  /// be obtained, which is recorded as the share's error.
  ///
  /// A new share names its root by the change tag of the saved root, which is known only after the root was saved.
  /// Therefore the two cannot be sent in one request, although callers save them in one call. A request that is not
  /// sent any more stays as it is.
  func namingRoot(in request: ModifyPlan.Request, _ outcome: inout ModifyOutcome) async -> ModifyPlan.Request? {
    guard outcome.stopped == nil, var change = request.changes.first, let rootID = request.sharedRootID else {
      return request
    }
    let root: Result<CKRecord, any Error>
    if let saved = outcome.saves[rootID] {
      root = saved.mapError { _ in CKError(.batchRequestFailed, "The root record of the share was not saved.") }
    } else {
      // The root is not saved in this call, and the caller's change tag may be outdated.
      do {
        root =
          try await readRecords(for: [rootID], desiredKeys: [])[rootID]
          ?? .failure(CKError(.unknownItem, "The root record of the share does not exist."))
      } catch {
        outcome.stop(after: error)
        root = .failure(error)
      }
    }
    do {
      guard let tag = try root.get().recordChangeTag else {
        throw CKError(.internalError, "The root record of the share has no change tag.")
      }
      change = try change.withRecord { record in
        var sharing = record.sharing ?? WireSharing()
        sharing.forRecord = WireShareRoot(recordName: rootID.recordName, recordChangeTag: tag)
        record.sharing = sharing
      }
    } catch {
      outcome.fail(
        change,
        error as? CKError ?? CKError(.internalError, "The root record of the share could not be fetched.")
      )
      return nil
    }
    var request = request
    request.changes = [change]
    return request
  }

  /// Refreshes roots that this call saved before their share was created or deleted, because the server then changes
  /// their `share` and their change tag.
  func refreshRoots(of newShares: [ModifyPlan.Request], _ outcome: inout ModifyOutcome) async {
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
    guard !stale.isEmpty, outcome.stopped == nil else { return }
    do {
      for (id, result) in try await uncachedRecords(for: Array(stale.keys)) {
        guard let state = try? result.get().snapshot else { continue }
        stale[id]?.state.withLock { $0 = $0.refreshed(from: state) }
      }
    } catch {
      outcome.stop(after: error)
    }
  }
}

extension ModifyPlan.Request {
  /// The root of the share that this request creates; nil if it creates none, or shares a whole zone.
  var sharedRootID: CKRecordID? {
    guard makesShare, let change = changes.first, case .save(_, let sent) = change.kind,
      let name = sent.sharing?.rootRecordName
    else { return nil }
    return CKRecordID(recordName: name, zoneID: zoneID)
  }
}
