import CloudKit
import Facts
package import Foundation

/// Assets of accepted saves: uploaded before their saves are sent.
extension SyncStore {
  /// An asset without a valid receipt, of an operation that is otherwise sendable.
  struct AssetNeed: Sendable {
    var operation: Int64
    var type: String
    var key: RecordKey
    var asset: QueuedAsset
    var file: URL?
  }

  /// The missing receipts of these operations. Equal bytes are uploaded once; the other operations then refer to that
  /// field.
  func assetNeeds(_ ids: [Int64]) throws(StoreError) -> [AssetNeed] {
    let now = now()
    return try read { ledger in
      var needs: [AssetNeed] = []
      var uploading: Set<String> = []
      for id in ids {
        guard let operation = try ledger.operation(id), let type = operation.type else { continue }
        let assets = try Self.recognized(operation.assets, in: operation.key.zoneKey, ledger)
        for asset in assets where !asset.hasReceipt(at: now) {
          if asset.place == nil, let digest = asset.digest, !uploading.insert(digest).inserted { continue }
          needs.append(AssetNeed(operation: id, type: type, key: operation.key, asset: asset, file: file(of: asset)))
        }
      }
      return needs
    }
  }

  /// The file of a queued asset; nil if only the server has the bytes.
  package func file(of asset: QueuedAsset) -> URL? {
    asset.path.map { URL(fileURLWithPath: $0) } ?? asset.digest.flatMap { vault?.file($0) }
  }

  /// The result of getting a receipt.
  enum AssetOutcome: Sendable {
    case uploaded(WireAsset, at: Int64)
    /// No record of the zone has these bytes any more: they must be uploaded.
    case notThere
    /// The file has other bytes, which replace those that were queued.
    case changed(AssetVault.Content)
    /// Retrying does not help.
    case refused(FailureCause)
    case failed(WebServicesError)
    case zoneMissing(WebServicesError)
  }

  /// Stores the receipts of operations, and failures to get one.
  ///
  /// - Returns: the number of operations that became dead letters.
  func finishAssets(
    _ outcomes: [(need: AssetNeed, outcome: AssetOutcome)],
    policy: MergePolicy,
    random: Double,
    _ lease: Lease
  ) throws(StoreError) -> Int {
    return try write(lease) { ledger, now in
      for zone in Set(outcomes.map(\.need.key.zoneKey)) { try ledger.noteServed(zone) }
      var failed = 0
      // Several failed files of a record count once, and a bad network is no record's fault.
      var putOff: Set<Int64> = []
      let isLineGood = outcomes.contains { if case .uploaded = $0.outcome { true } else { false } }
      for (need, outcome) in outcomes {
        guard var operation = try ledger.operation(need.operation), operation.state != .failed,
          let index = operation.assets.firstIndex(where: { $0.isSame(as: need.asset) })
        else { continue }
        switch outcome {
        case .uploaded(let descriptor, let time):
          operation.apply(.uploaded)
          operation.setReceipt(index, descriptor, at: time)
          try Self.countLateness(of: &operation, now: now, ledger)
        case .notThere where operation.assets[index].digest == nil:
          operation.apply(.failed(.fileNotOnServer(field: need.asset.field)))
        case .notThere: operation.assets[index].place = nil
        case .changed(let content): operation.setContent(index, content)
        case .refused(let failure): operation.apply(.failed(failure))
        case .failed(let error):
          let what = "bring the file of \(need.asset.field)"
          try Retention.addAttempt(of: operation.id, error, to: what, seconds: 0, now: now, ledger)
          guard putOff.insert(operation.id).inserted else { continue }
          operation.putOff(error, isLineGood: isLineGood, now: now, random: random)
        case .zoneMissing(let error):
          guard putOff.insert(operation.id).inserted else { continue }
          let facts = try RecordFacts(of: operation, zoneIsMissing: true, policy, ledger)
          try ledger.write(operation.meetMissingZone(error, facts, now: now), now: now)
        }
        if operation.state == .failed { failed += 1 }
        if case .notThere = outcome, let digest = need.asset.digest {
          try ledger.removeAssetPlace(digest, in: operation.key.zoneKey)
        }
        try ledger.update(operation)
      }
      return failed
    }
  }

  /// Counts an attempt if the first receipt has expired when the last file is uploaded. Otherwise files that take
  /// longer than a receipt lives would be uploaded for ever. A group counts as one.
  private static func countLateness(of operation: inout QueuedOperation, now: Int64, _ ledger: Ledger) throws {
    let id = operation.id
    let members = try operation.group.map { try ledger.operations(inGroup: $0) } ?? []
    let all = members.filter { $0.id != id } + [operation]
    guard !all.contains(where: \.needsUpload), all.contains(where: { $0.assets.contains { !$0.hasReceipt(at: now) } })
    else { return }
    let reason = "its files take longer to upload than the server keeps them for a save"
    let error = WebServicesError(ServerErrorCode("ASSET_UPLOAD_EXPIRED"), reason)
    try Retention.addAttempt(of: operation.id, error, to: "bring its files", seconds: 0, now: now, ledger)
    operation.apply(.attempted)
    if operation.attempts >= operation.maxAttempts { operation.apply(.failed(.uploadExpired(code: error.code.name))) }
  }

  /// Remembers the places of a saved operation's bytes, so that others need no upload, and forgets those of bytes that
  /// it replaced.
  static func noteAssets(of sent: QueuedOperation, in record: MirrorRecord, _ ledger: Ledger) throws {
    for field in Set(sent.assets.map(\.field)) {
      let checksums = (record.fields[field]?.assets ?? []).compactMap(\.fileChecksum)
      let place = WireAssetPlace(recordName: sent.key.name, fieldName: field)
      try ledger.removeAssetPlaces(place, in: sent.key.zoneKey, except: checksums)
      for asset in sent.assets where asset.field == field {
        guard let digest = asset.digest, let checksum = asset.checksum, checksums.contains(checksum) else { continue }
        try ledger.put(AssetPlace(place: place, checksum: checksum), of: digest, in: sent.key.zoneKey)
      }
    }
  }

  /// Removes copies that nothing needs.
  ///
  /// - Parameter amongAll: whether to ask about each copy, also about those that an interrupted process left. Else it
  ///   asks about those whose last use has ended, however many others there are.
  func removeUnneededAssets(amongAll: Bool = true) throws(StoreError) {
    guard let vault else { return }
    let unused = try read { try $0.unusedFiles() }
    guard amongAll || !unused.isEmpty else { return }
    do {
      let isDone = try vault.remove(among: amongAll ? nil : unused) { names in try read { try $0.unneeded(names) } }
      if isDone, !unused.isEmpty { try write { try $0.removeUnused(unused) } }
    } catch let error as StoreError {
      throw error
    } catch {
      // A leftover copy only takes space and is removed another time.
    }
  }
}

extension QueuedAsset {
  /// Whether it has a valid receipt.
  func hasReceipt(at now: Int64) -> Bool {
    receipt.map { now - $0.at < UploadReceipt.lifetime && now >= $0.at } ?? false
  }

  /// Whether it is the same asset of the operation, apart from the server's data about it.
  fileprivate func isSame(as other: QueuedAsset) -> Bool {
    field == other.field && position == other.position && size == other.size
      && (digest != nil ? digest == other.digest : checksum == other.checksum)
  }
}

extension QueuedOperation {
  /// Whether an asset must be uploaded first.
  var needsUpload: Bool { assets.contains { $0.receipt == nil } }

  /// Drops receipts: all, or the expired ones.
  mutating func dropReceipts(at now: Int64? = nil) {
    for index in assets.indices where now.map({ !assets[index].hasReceipt(at: $0) }) ?? true {
      assets[index].receipt = nil
    }
  }

  /// Stores a descriptor with its receipt and updates the changes to the server's checksum.
  fileprivate mutating func setReceipt(_ index: Int, _ descriptor: WireAsset, at time: Int64) {
    change(index) { asset in
      asset.receipt = QueuedAsset.UploadReceipt(asset: descriptor, at: time)
      (asset.checksum, asset.mayHaveChanged) = (descriptor.fileChecksum, nil)
      asset.size = descriptor.size ?? asset.size
    }
  }

  /// Stores the content of a file that has other bytes than were queued. It may do so once for each retry.
  fileprivate mutating func setContent(_ index: Int, _ content: AssetVault.Content) {
    change(index) { asset in
      (asset.digest, asset.size) = (content.digest, content.size)
      (asset.checksum, asset.mayHaveChanged) = (nil, nil)
    }
  }

  /// Changes an asset, and its descriptor in the changes.
  private mutating func change(_ index: Int, _ change: (inout QueuedAsset) -> Void) {
    let old = assets[index].value
    change(&assets[index])
    let (field, position, new) = (assets[index].field, assets[index].position, assets[index].value)
    guard let value = changes.values[field], let assets = value.assets, position < assets.count, assets[position] == old
    else { return }
    changes[field] = value.replacingAssets(at: [position: new])
  }

  /// Backs off after a failed upload, longer each time. An attempt is counted unless the server asked for the wait, or
  /// the network is at fault and has not been for long.
  fileprivate mutating func putOff(_ error: WebServicesError, isLineGood: Bool, now: Int64, random: Double) {
    errorCode = error.code.name
    errorMessage = error.reason
    apply(.uploadFailed)
    let isLong = Backoff.seconds(afterAttempt: lostRounds, random: 1) >= Throttles.longWait
    switch Disposition(of: error, during: .uploading) {
    case .wait: break
    case .outage: if isLineGood || isLong { apply(.attempted) }
    default: apply(.attempted)
    }
    if attempts >= maxAttempts { return apply(.failed(.rejected(code: error.code.name, message: error.reason))) }
    apply(.backedOff(error, rounds: lostRounds, now: now, random: random))
  }
}
