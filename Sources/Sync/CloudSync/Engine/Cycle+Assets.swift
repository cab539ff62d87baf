import CloudKit
import Facts
import Foundation
import Synchronization

/// Uploads the files of queued assets from disk, in bounded memory, so that their records can be sent.
extension Cycle {
  private typealias Need = SyncStore.AssetNeed
  private typealias Supplied = (need: SyncStore.AssetNeed, outcome: SyncStore.AssetOutcome)

  /// The number of bytes (or one file) for which addresses are requested at once. Queued changes and fetches wait
  /// meanwhile.
  private static let batchBytes = 16 << 20

  /// Gets upload receipts for the assets of these operations: by referring to a record of the zone with the same bytes,
  /// or by an upload.
  func supplyAssets(_ zone: ZoneKey, _ ids: [Int64]) async throws {
    let needs = try store.assetNeeds(ids).batches(upTo: Self.batchBytes, size: Self.boundedSize).first ?? []
    try showSending()
    let known = needs.filter { $0.asset.place != nil }
    if !known.isEmpty {
      let supplied = try await rereference(known, zone)
      try finish(supplied)
    }
    let files = needs.filter { $0.asset.place == nil }
    guard !files.isEmpty else { return }
    let addressed = try await addresses(files, zone)
    try finish(try await upload(addressed))
  }

  /// A size that cannot overflow a sum: the server's sizes and edited rows may hold any value.
  private static func boundedSize(of need: Need) -> Int { Int(min(max(0, need.asset.size), 1 << 40)) }

  /// Uploads files, several at a time, and publishes the progress in bytes.
  private func upload(_ jobs: [(need: Need, address: String)]) async throws -> [Supplied] {
    let (transport, store, shown) = (configuration.assetTransport, store, lease.shown)
    let total = jobs.reduce(0) { $0 + Self.boundedSize(of: $1.need) }
    let uploaded = Mutex(0)
    shown.show(Progress(phase: .upload, done: 0, total: total))
    return try await request { (client, database) async throws(WebServicesError) in
      await jobs.concurrently { job in
        let outcome = await Self.upload(job.need, to: job.address, client, over: transport, store)
        uploaded.withLock { uploaded in
          uploaded += Self.boundedSize(of: job.need)
          shown.show(Progress(phase: .upload, done: uploaded, total: total))
        }
        return (job.need, outcome)
      }
    }
  }

  /// Gets descriptors for bytes that are in the zone already.
  private func rereference(_ needs: [Need], _ zone: ZoneKey) async throws -> [Supplied] {
    let askedAt = store.now()
    return try await prepare(needs) { [self] needs throws(WebServicesError) in
      let known = needs.compactMap { need in need.asset.place.map { ($0, need.asset.checksum) } }
      let assets = try await request { (client, database) async throws(WebServicesError) in
        try await client.rereferenceAssets(known, zone: zone.wire, in: database)
      }
      return zip(needs, assets).map { need, asset in (need, asset.map { .uploaded($0, at: askedAt) } ?? .notThere) }
    } refused: { needs, _, _ in
      needs.map { ($0, .notThere) }
    }
  }

  /// Gets upload addresses.
  private func addresses(_ needs: [Need], _ zone: ZoneKey) async throws -> [(need: Need, address: String)] {
    try await prepare(needs) { [self] needs throws(WebServicesError) in
      let tokens = needs.map { need in
        WireAssetToken(recordName: need.key.name, recordType: need.type, fieldName: need.asset.field)
      }
      let addresses = try await request { (client, database) async throws(WebServicesError) in
        try await client.assetAddresses(tokens, zone: zone.wire, in: database)
      }
      return zip(needs, addresses).map { ($0, $1) }
    } refused: { [self] needs, error, missesZone in
      let isMissing = missesZone ? try await isMissing(zone) : false
      try finish(needs.map { ($0, isMissing ? .zoneMissing(error) : .failed(error)) })
      return []
    }
  }

  /// Makes a request for assets. If one for several is rejected, bisection finds the bad one.
  ///
  /// - Parameter refused: called for a rejected asset, and for those of a missing zone.
  private func prepare<Value>(
    _ needs: [Need],
    _ request: ([Need]) async throws(WebServicesError) -> [Value],
    refused: (_ needs: [Need], WebServicesError, _ missesZone: Bool) async throws -> [Value]
  ) async throws -> [Value] {
    guard try store.mayRequest() else { return [] }
    summary.requests += 1
    do {
      let answer = try await request(needs)
      session.assetsGivenUp = 0
      return answer
    } catch {
      let half = needs.count / 2
      switch Disposition(of: error, during: .preparingUpload) {
      case .wait(.quota): try store.backOff(.quota, error, random: configuration.random(), lease)
      case .isolate where error.asksToWait, .outage where error.asksToWait: try leaveAlone(needs, error)
      case .outage where half > 0: return try await prepare(Array(needs[..<half]), request, refused: refused)
      case .outage: try giveUp(needs, error)
      case .isolate where half > 0:
        return try await prepare(Array(needs[..<half]), request, refused: refused)
          + prepare(Array(needs[half...]), request, refused: refused)
      case .isolate: return try await refused(needs, error, false)
      case .zoneMissing: return try await refused(needs, error, true)
      default: throw error
      }
      return []
    }
  }

  /// Postpones an asset on which the server fails. After several in a row, assets are left alone for a while.
  private func giveUp(_ needs: [Need], _ error: WebServicesError) throws {
    try finish(needs.map { ($0, .failed(error)) })
    session.assetsGivenUp += 1
    guard session.assetsGivenUp >= 5 else { return }
    session.assetsGivenUp = 0
    throw error
  }

  /// Backs off after the server asked to wait. Bisection isolates an asset that may be the cause: the first half is
  /// sent after the wait, the other one later.
  private func leaveAlone(_ needs: [Need], _ error: WebServicesError) throws {
    try store.backOff(.database, error, random: configuration.random(), lease)
    try finish(needs[(needs.count / 2)...].map { ($0, .failed(error)) })
  }

  private func finish(_ supplied: [Supplied]) throws {
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
    // A file that was not copied may have changed, and a copy may be damaged; check before uploading wrong bytes.
    if let digest = need.asset.digest {
      let content: AssetVault.Content
      do {
        content = try AssetVault.content(of: file)
      } catch {
        return outcome(ofReading: file, field, error)
      }
      guard content.digest == digest else {
        let mayChange = need.asset.mayHaveChanged == true
        return mayChange ? .changed(content) : .refused(.file(.changed, path: file.path, field: field))
      }
    }
    do throws(UploadFailure) {
      // The receipt's age counts from here, not from the end of the batch.
      return .uploaded(try await client.uploadAsset(file, to: address, over: transport), at: store.now())
    } catch {
      switch error {
      case .missing: return .refused(.file(.missing, path: file.path, field: field))
      case .changed: return .refused(.file(.changed, path: file.path, field: field))
      case .host(let error) where error.code == .limitExceeded:
        return .refused(.fileTooLarge(field: field, code: error.code.name, message: error.reason))
      case .host(let error): return .failed(error)
      }
    }
  }

  /// Translates an error of reading a file: too many open files are a reason to try again, others refuse the change.
  static func outcome(ofReading file: URL, _ field: String, _ error: any Error) -> SyncStore.AssetOutcome {
    if error is AssetVault.TooManyOpenFiles {
      let reason = "the file \(file.path) for \(field) cannot be opened now: too many files are open"
      return .failed(WebServicesError(ServerErrorCode("TOO_MANY_OPEN_FILES"), reason, effect: .notSent))
    }
    let problem = AssetVault.problem(error) ?? .unreadable(AssetVault.text(error))
    return .refused(.file(problem, path: file.path, field: field))
  }
}
