import CloudKit
import Facts

/// Writing the elements of fetched pages.
extension SyncStore {
  /// Counts the changes that a page made.
  struct PageEffect: Sendable {
    var changed = 0
    var deleted = 0
    /// The error of an element that could not be fetched.
    var failure: WebServicesError?
    /// The error of a record that came with a value that does not fit its type.
    var misfit: WebServicesError?
    /// The zone's token has changed since the page was requested, so the page is discarded.
    var isStale = false

    mutating func add(_ other: PageEffect) {
      changed += other.changed
      deleted += other.deleted
      failure = other.failure ?? failure
      misfit = other.misfit ?? misfit
      isStale = isStale || other.isStale
    }
  }

  func hasFailed(_ results: [WireResult<WireRecord>]) -> Bool {
    results.contains { result in
      switch result {
      case .item(let wire): wire.recordType == nil || wire.recordChangeTag == nil
      case .deleted: false
      case .failure: result.misfit == nil
      }
    }
  }

  /// Writes as many elements of a page as fit into this transaction.
  func take(
    _ results: inout TransactionSlice<WireResult<WireRecord>>,
    _ zone: ZoneKey,
    epoch: Int64,
    isWhole: Bool = false,
    comparesContent: Bool = false,
    _ reconciliation: Reconciliation
  ) throws -> PageEffect {
    var effect = PageEffect()
    while let part = results.next(Self.writtenAtOnce) {
      let names = part.compactMap(\.id)
      // Of several elements for one record the last one holds.
      for part in Set(names).count == names.count ? [part] : part.map({ [$0] }) {
        effect.changed += try reconciliation.take(
          part.compactMap { if case .item(let wire) = $0 { MirrorRecord(wire, in: zone) } else { nil } },
          epoch: epoch,
          isWhole: isWhole,
          comparesContent: comparesContent
        )
        let deleted = part.compactMap { if case .deleted(let name, _) = $0 { name } else { nil } }
        effect.deleted += try DeletionHold(reconciliation: reconciliation).note(deleted, of: zone)
        for result in part { try noteFailure(result, zone, epoch: epoch, reconciliation, &effect) }
      }
    }
    try reconciliation.ledger.count(fetched: effect.changed + effect.deleted, now: reconciliation.now)
    return effect
  }

  /// Notes an element without the record that it should hold.
  private func noteFailure(
    _ result: WireResult<WireRecord>,
    _ zone: ZoneKey,
    epoch: Int64,
    _ reconciliation: Reconciliation,
    _ effect: inout PageEffect
  ) throws {
    switch result {
    case .deleted: break
    case .item(let wire):
      guard MirrorRecord(wire, in: zone) == nil else { return }
      let reason = "\(wire.recordName): the server sent it without its type or tag"
      effect.failure = WebServicesError(.unexpectedServerResponse, reason)
    case .failure(let name, let error):
      var named = error
      if let name { named.reason = "\(name): \(error.reason)" }
      guard let name = result.misfit else { return effect.failure = named }
      effect.misfit = named
      // It exists, so a full fetch or a scan must not take it for deleted.
      try reconciliation.ledger.touch([name], of: zone, epoch: epoch)
      try Self.note(misfit: name, error, zone, reconciliation)
    }
  }
}

extension Reconciliation {
  /// Stores records of the server in the mirror and rebases the operations queued for them, in a few statements where
  /// there are none.
  ///
  /// Ignores a record whose change tag is known, or that is older than the mirror: query results lag behind writes. An
  /// operation in flight waits for its reply.
  ///
  /// - Parameters:
  ///   - records: different records of one zone.
  ///   - isWhole: whether the server sends everything again, perhaps after it was restored to an older state. A record
  ///     in a version that the mirror has replaces it if it differs.
  ///   - comparesContent: whether it does that otherwise, too.
  /// - Returns: the number of records whose version the mirror did not have.
  func take(_ records: [MirrorRecord], epoch: Int64, isWhole: Bool = false, comparesContent: Bool = false) throws
    -> Int
  {
    guard let zone = records.first?.key.zoneKey else { return 0 }
    try ledger.removeUnreadable(records.map(\.key.name), in: zone)
    let all = zip(records, try ledger.known(records.map(\.key.name), in: zone))
    let compared = all.filter { (isWhole || comparesContent) && $1.version?.changeTag == $0.changeTag }
    let contents = try ledger.records(compared.map(\.0.key.name), in: zone)
    var (stored, queued, seen): ([MirrorRecord], [(MirrorRecord, FetchedVersion)], [String]) = ([], [], [])
    var changed = 0
    for (record, known) in all {
      var version = known.version.map { FetchedVersion(record, mirror: $0, isWhole: isWhole) } ?? .new
      if version == .same, let content = contents[record.key], !content.isSame(as: record) { version = .new }
      if version != .same { changed += 1 }
      if version == .same || version == .former || (version == .older && known.isQueued), known.epoch != epoch {
        seen.append(record.key.name)
      }
      switch version {
      case .same, .former: continue
      case .new, .older: if known.isQueued { queued.append((record, version)) } else { stored.append(record) }
      }
    }
    try ledger.touch(seen, of: zone, epoch: epoch)
    try ledger.put(stored.map { ($0, epoch) })
    for (record, version) in queued {
      guard let operation = try ledger.operation(for: record.key) else { continue }
      switch version {
      case .older: try verify(operation)
      case _ where operation.state == .inFlight: try ledger.put(record, epoch: epoch)
      default: try rebase(operation, onto: record, epoch: epoch)
      }
    }
    return changed
  }
}

/// A fetched version of a record, compared with the one in the mirror.
private enum FetchedVersion {
  case same, new
  /// A version that the mirror had before.
  case former
  /// Older than the mirror's, and never seen.
  case older

  /// - Parameter isWhole: whether the server sends everything again, so that an older version is new.
  init(_ record: MirrorRecord, mirror: MirrorVersion, isWhole: Bool) {
    if mirror.changeTag == record.changeTag {
      self = .same
    } else if !isWhole, let mine = mirror.modifiedAt, let other = record.modifiedAt, mine > other {
      self = mirror.formerTags.contains(record.changeTag) ? .former : .older
    } else {
      self = .new
    }
  }
}

extension DeletionHold {
  /// Marks records that the server deleted, in one statement where nothing is queued for them.
  ///
  /// - Returns: the number of records that are not in the mirror any more.
  func note(_ names: [String], of zone: ZoneKey) throws -> Int {
    guard !names.isEmpty else { return 0 }
    let ledger = reconciliation.ledger
    try ledger.removeUnreadable(names, in: zone)
    var marked: [String] = []
    var deleted = 0
    for (name, known) in zip(names, try ledger.known(names, in: zone)) {
      if known.isQueued {
        try note(RecordKey(zone, name))
        if try !ledger.isGone(RecordKey(zone, name)) { deleted += 1 }
      } else if known.version != nil {
        marked.append(name)
      } else {
        deleted += 1
      }
    }
    try ledger.touch(marked, of: zone, epoch: MirrorRecord.gone)
    return deleted
  }
}
