internal import Foundation

extension CKDatabase {
  private typealias Need = AssetSupply.Need
  private typealias Supplied = (need: AssetSupply.Need, result: Result<WireAsset, CKError>)

  /// Uploads the assets of a request, so that the request can be sent.
  ///
  /// Assets that were read in the same zone are referenced again; other files are uploaded, four at a time. A request
  /// without assets causes no calls.
  func supplyAssets(of request: ModifyPlan.Request) async -> AssetSupply {
    var supply = AssetSupply(request)
    let needs = supply.needs
    guard !needs.isEmpty else { return supply }
    var supplied: [Supplied] = []
    let places = needs.filter { $0.asset.origin?.recordID.zoneID == request.zoneID && $0.asset.wire != nil }
    for batch in places.requests {
      switch await rereference(batch, in: request.zoneID) {
      case .success(let known): supplied += known
      case .failure(let failure):
        supply.failure = failure
        return supply
      }
    }
    let known = Set(supplied.map { $0.need.index })
    var files: [(need: Need, file: URL, size: Int64)] = []
    for need in needs where !known.contains(need.index) {
      do throws(CKError) {
        let file = try await localFile(of: need.asset)
        files.append((need, file, try FileFacts(ofAsset: file).size))
      } catch {
        supplied.append((need, .failure(error)))
      }
    }
    let progress = settings.progress
    for file in files { progress?.expect(file.size, of: request.changes[file.need.change].id) }
    // Upload addresses are valid for 15 minutes, so each batch is small enough to be uploaded in that time over a slow
    // connection.
    for batch in files.batches(upTo: 2 * Int(CKAsset.largestFile), size: { Int($0.size) }) {
      switch await addresses(for: batch.map(\.need), in: request.zoneID) {
      case .failure(let failure):
        supply.failure = failure
        return supply
      case .success(let addresses):
        let service = assets.ending(at: settings.transferEnd)
        let jobs = zip(batch, addresses).map { (need: $0.need, file: $0.file, address: $1) }
        supplied += await jobs.concurrently { job -> Supplied in
          let address: String
          do throws(CKError) { address = try job.address.get() } catch { return (job.need, .failure(error)) }
          do throws(UploadFailure) {
            let report = progress?.bytes(of: request.changes[job.need.change].id)
            return (job.need, .success(try await service.upload(job.file, to: address, reporting: report)))
          } catch {
            return (job.need, .failure(CKError(error, of: job.file)))
          }
        }
      }
    }
    guard !Task.isCancelled else {
      supply.failure = WebServicesError(.networkError, "The call was cancelled.", effect: .notSent)
      return supply
    }
    supply.complete(with: supplied)
    return supply
  }

  /// Returns a file with the asset's bytes. An asset that exists only on the server, in another zone or database, is
  /// downloaded first.
  private func localFile(of asset: CKAsset) async throws(CKError) -> URL {
    if let file = asset.localFile { return file }
    do {
      return try await asset.download()
    } catch {
      throw error as? CKError ?? CKError(.assetNotAvailable, "The asset could not be downloaded.")
    }
  }

  // MARK: - Calls

  /// Requests an upload address, or an error, for each need. If a refusal may concern only one record, each record is
  /// requested again alone.
  private func addresses(
    for needs: [Need],
    in zoneID: CKRecordZoneID
  ) async -> Result<[Result<String, CKError>], WebServicesError> {
    let answer = await attempt { client throws(WebServicesError) in
      try await client.assetAddresses(needs.map(\.token), zone: zoneID.wire, in: name)
    }
    switch answer {
    case .success(let addresses): return .success(addresses.map { .success($0) })
    case .failure(.local(let error)):
      return .failure(WebServicesError(.networkError, error.localizedDescription, effect: .notSent))
    case .failure(.server(let failure)):
      guard failure.mayConcernOneRecord else { return .failure(failure) }
      let groups = needs.grouped(by: \.change)
      guard groups.count > 1 else {
        return .success(needs.map { _ in .failure(CKError(failure, in: .item)) })
      }
      var results: [Result<String, CKError>] = []
      for group in groups {
        switch await addresses(for: group.elements, in: zoneID) {
        case .success(let addresses): results += addresses
        case .failure(let failure): return .failure(failure)
        }
      }
      return .success(results)
    }
  }

  /// Returns the assets that the server allows to be referenced again. The others must be uploaded, unless the server
  /// asks for a pause, which is the failure.
  private func rereference(
    _ needs: [Need],
    in zoneID: CKRecordZoneID
  ) async -> Result<[Supplied], WebServicesError> {
    let assets = needs.compactMap { need in
      need.asset.origin.map { origin in
        (WireAssetPlace(recordName: origin.recordID.recordName, fieldName: origin.key), need.asset.wire?.fileChecksum)
      }
    }
    let answer = await attempt { client throws(WebServicesError) in
      try await client.rereferenceAssets(assets, zone: zoneID.wire, in: name)
    }
    switch answer {
    case .success(let known):
      return .success(zip(needs, known).compactMap { need, asset in asset.map { (need, .success($0)) } })
    case .failure(.server(let failure)) where failure.code == .throttled || failure.retryAfter != nil:
      return .failure(failure)
    case .failure: return .success([])
    }
  }
}

extension AssetSupply.Need {
  fileprivate struct Index: Hashable {
    let change: Int
    let key: String
    let position: Int
  }

  fileprivate var index: Index { Index(change: change, key: key, position: position) }
}

extension WebServicesError {
  /// Whether the same request without one of its records might have succeeded.
  package var mayConcernOneRecord: Bool {
    switch code {
    case .badRequest, .notFound, .accessDenied, .unknown: effect == .refused
    default: false
    }
  }
}
