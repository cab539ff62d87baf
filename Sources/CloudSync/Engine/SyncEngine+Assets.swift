import CloudKit
import Facts
import Foundation

/// Bringing the bytes of queued assets to the server, from disk, in bounded memory, so that their records can be sent.
extension SyncEngine {
  private typealias Need = SyncStore.AssetNeed
  private typealias Supplied = (need: SyncStore.AssetNeed, outcome: SyncStore.AssetOutcome)

  /// Bytes that are asked addresses for at once, or one file: what is queued meanwhile, and the feeds, wait for them.
  private static let batchBytes: Int64 = 16 << 20
  /// Files that are under way at the same time.
  private static let width = 4

  /// Gets receipts for the assets of these operations: for bytes that a record of the zone holds already by referring to
  /// it, for the others by an upload.
  func supplyAssets(_ zone: ZoneKey, _ ids: [Int64], _ lease: Lease, _ summary: inout PassSummary) async throws {
    var bytes: Int64 = 0
    let needs = try store.assetNeeds(ids).prefix { need in
      let size = Self.boundedSize(of: need)
      defer { bytes += size }
      return bytes == 0 || bytes + size <= Self.batchBytes
    }.prefix(Planner.requestLimit)
    try store.setActivity(.sending, lease)
    let known = needs.filter { $0.asset.place != nil }
    if !known.isEmpty {
      let supplied = try await rereference(Array(known), zone, lease, &summary)
      try finish(supplied, lease, &summary)
    }
    let files = needs.filter { $0.asset.place == nil }
    guard !files.isEmpty else { return }
    let addressed = try await addresses(Array(files), zone, lease, &summary)
    try finish(try await upload(addressed, lease), lease, &summary)
  }

  /// A size that can be added up: of what it holds a server may say any, and a row may have been edited by hand.
  private static func boundedSize(of need: Need) -> Int64 { min(max(0, need.asset.size), 1 << 40) }

  /// Uploads files, several at a time, and shows how many of their bytes are done.
  private func upload(_ jobs: [(need: Need, address: String)], _ lease: Lease) async throws -> [Supplied] {
    let (client, transport, store) = (client, configuration.assetTransport, store)
    let total = jobs.reduce(0) { $0 + Int(Self.boundedSize(of: $1.need)) }
    try store.setProgress(Progress(phase: .upload, done: 0, total: total), lease)
    return try await request(lease) { () async throws(WebServicesError) in
      await withTaskGroup(of: Supplied.self) { group in
        var supplied: [Supplied] = []
        var bytes = 0
        let take = { (done: Supplied) in
          supplied.append(done)
          bytes += Int(Self.boundedSize(of: done.need))
          // A driver that has been replaced meanwhile learns of it when it writes what became of the files.
          try? store.setProgress(Progress(phase: .upload, done: bytes, total: total), lease)
        }
        for (index, job) in jobs.enumerated() {
          if index >= Self.width, let done = await group.next() { take(done) }
          group.addTask { (job.need, await Self.upload(job.need, to: job.address, client, over: transport, store)) }
        }
        for await done in group { take(done) }
        return supplied
      }
    }
  }

  /// Descriptors for bytes that are in the zone already.
  private func rereference(
    _ needs: [Need],
    _ zone: ZoneKey,
    _ lease: Lease,
    _ summary: inout PassSummary
  ) async throws -> [Supplied] {
    guard try store.mayRequest() else { return [] }
    let places = needs.compactMap(\.asset.place).reduce(into: [WireAssetPlace]()) { places, place in
      if !places.contains(place) { places.append(place) }
    }
    let client = client
    let database = database
    let askedAt = store.now()
    summary.requests += 1
    let assets: [WireAsset]
    do {
      assets = try await request(lease) { () async throws(WebServicesError) in
        try await client.rereferenceAssets(places, zone: zone.wire, in: database).map(\.asset)
      }
    } catch {
      let first = places.prefix(places.count / 2)
      let isFirst = { (need: Need) in need.asset.place.map(first.contains) ?? false }
      switch error.meaning {
      case .everything: throw error
      case .one where error.asksToWait, .fewer where error.asksToWait:
        try leaveAlone(needs, error, lease, &summary)
        return []
      case .fewer where places.count > 1: return try await rereference(needs.filter(isFirst), zone, lease, &summary)
      case .fewer:
        try giveUp(needs, error, lease, &summary)
        return []
      // A refusal may concern one place: each half is asked for.
      case .one where places.count > 1:
        return try await rereference(needs.filter(isFirst), zone, lease, &summary)
          + rereference(needs.filter { !isFirst($0) }, zone, lease, &summary)
      case .one, .zone: assets = []
      }
    }
    assetsGivenUp = 0
    return needs.map { need in
      // The checksum tells that it is these bytes, whatever the field holds by now.
      let found = assets.first { $0.receipt != nil && $0.fileChecksum == need.asset.checksum }
      return (need, found.map { .granted($0, at: askedAt) } ?? .notThere)
    }
  }

  /// Addresses for uploads; where a request for several is refused, the halves are asked for.
  private func addresses(
    _ needs: [Need],
    _ zone: ZoneKey,
    _ lease: Lease,
    _ summary: inout PassSummary
  ) async throws -> [(need: Need, address: String)] {
    guard try store.mayRequest() else { return [] }
    let client = client
    let database = database
    let tokens = needs.map { need in
      WireAssetToken(recordName: need.key.name, recordType: need.type, fieldName: need.asset.field)
    }
    summary.requests += 1
    let answer: [WireAssetAddress]
    do {
      answer = try await request(lease) { () async throws(WebServicesError) in
        let answer = try await client.assetAddresses(tokens, zone: zone.wire, in: database)
        guard answer.count == tokens.count, zip(answer, tokens).allSatisfy({ $0.isFor($1) }) else {
          throw WebServicesError(.unexpectedServerResponse, "the answer has not the addresses that were asked for")
        }
        return answer
      }
    } catch {
      if error.code == .quotaExceeded {
        try store.hold(.quota, error, random: configuration.random(), lease)
        return []
      }
      let half = needs.count / 2
      switch error.meaning {
      case .everything: throw error
      case .one where error.asksToWait, .fewer where error.asksToWait:
        try leaveAlone(needs, error, lease, &summary)
      case .fewer where needs.count > 1: return try await addresses(Array(needs[..<half]), zone, lease, &summary)
      case .fewer:
        try giveUp(needs, error, lease, &summary)
        return []
      case .one where needs.count > 1:
        return try await addresses(Array(needs[..<half]), zone, lease, &summary)
          + addresses(Array(needs[half...]), zone, lease, &summary)
      case .one: try finish(needs.map { ($0, .failed(error)) }, lease, &summary)
      case .zone: try finish(needs.map { ($0, .zoneMissing(error)) }, lease, &summary)
      }
      return []
    }
    assetsGivenUp = 0
    return zip(needs, answer).map { ($0, $1.url) }
  }

  /// The server fails over a single one: it is put off. Where it fails over one after the other, it is left alone for a while.
  private func giveUp(_ needs: [Need], _ error: WebServicesError, _ lease: Lease, _ summary: inout PassSummary) throws {
    try finish(needs.map { ($0, .failed(error)) }, lease, &summary)
    assetsGivenUp += 1
    guard assetsGivenUp >= 5 else { return }
    assetsGivenUp = 0
    throw error
  }

  /// The server refuses all of these and wants to be left alone. They go by halves, so that one over which it fails is alone in
  /// the end: the first half when the wait is over, the other one later.
  private func leaveAlone(_ needs: [Need], _ error: WebServicesError, _ lease: Lease, _ summary: inout PassSummary)
    throws
  {
    try store.hold(.database, error, random: configuration.random(), lease)
    try finish(needs[(needs.count / 2)...].map { ($0, .failed(error)) }, lease, &summary)
  }

  private func finish(_ supplied: [Supplied], _ lease: Lease, _ summary: inout PassSummary) throws {
    summary.failed += try store.finishAssets(
      supplied,
      policy: merging,
      random: configuration.random(),
      lease
    )
  }

  private static func upload(
    _ need: Need,
    to address: String,
    _ client: WebServicesClient,
    over transport: (any CKAssetTransport)?,
    _ store: SyncStore
  ) async -> SyncStore.AssetOutcome {
    guard let file = need.file else { return .notThere }
    let field = need.asset.field
    // A noted file is not ours, and disks forget: its bytes may be others by now, and what is sent is referred to for good.
    if let digest = need.asset.digest {
      let content: AssetVault.Content
      do {
        content = try AssetVault.content(of: file)
      } catch {
        return outcome(ofReading: file, field, error)
      }
      guard content.digest == digest else {
        return .refused(.file(.changed, path: file.path, field: field))
      }
    }
    do {
      // The receipt's age counts from here, not from when the last file of the batch is through.
      return .granted(try await client.uploadAsset(file, to: address, over: transport), at: store.now())
    } catch {
      return outcome(of: error, file, field)
    }
  }

  /// What a file that cannot be read means for its save: a file that is there is tried again.
  private static func outcome(ofReading file: URL, _ field: String, _ error: any Error) -> SyncStore.AssetOutcome {
    switch error {
    case is AssetVault.TooManyOpenFiles:
      let reason = "the file \(file.path) for \(field) cannot be opened now: too many files are open"
      return .failed(WebServicesError(ServerErrorCode("TOO_MANY_OPEN_FILES"), reason, effect: .notSent))
    case let error as CocoaError where error.code == .fileReadNoSuchFile:
      return .refused(.file(.missing, path: file.path, field: field))
    default:
      return .refused(.file(.unreadable(SyncStore.text(error)), path: file.path, field: field))
    }
  }

  private static func outcome(of error: CKError, _ file: URL, _ field: String) -> SyncStore.AssetOutcome {
    let reason = error.localizedDescription
    switch error.code {
    case .assetFileNotFound:
      return .refused(.file(.missing, path: file.path, field: field))
    case .assetFileModified:
      return .refused(.file(.changed, path: file.path, field: field))
    case .limitExceeded:
      return .refused(.fileTooLarge(field: field, code: ServerErrorCode.limitExceeded.name, message: reason))
    case .requestRateLimited:
      return .failed(WebServicesError(.throttled, reason, retryAfter: error.retryAfterSeconds ?? 1))
    case .serviceUnavailable:
      return .failed(WebServicesError(.tryAgainLater, reason, retryAfter: error.retryAfterSeconds))
    case .networkUnavailable, .operationCancelled:
      return .failed(WebServicesError(.networkError, reason, effect: .notSent))
    // A file that breaks off each time must not be begun anew for ever.
    case .networkFailure: return .failed(WebServicesError(.networkError, reason, effect: .unknown))
    default: return .failed(WebServicesError(.unexpectedServerResponse, reason))
    }
  }
}

extension WebServicesError {
  /// What a failure to name addresses or descriptors means.
  fileprivate enum Meaning {
    case everything
    /// The zone is missing.
    case zone
    /// One of what was asked for was refused, and with it all.
    case one
    /// The server fails, perhaps over one of what was asked for: fewer are asked for, one in the end.
    case fewer
  }

  fileprivate var meaning: Meaning {
    if code == .zoneNotFound { return .zone }
    if mayConcernOneRecord { return .one }
    return mayBeForOneRecord ? .fewer : .everything
  }
}
