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
    for batch in places.chunks(of: Self.largestBatch) {
      switch await rereference(Array(batch), in: request.zoneID) {
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
        files.append((need, file, try FileFacts(of: file).size))
      } catch {
        supplied.append((need, .failure(error)))
      }
    }
    for batch in Self.cut(files) {
      switch await addresses(for: batch.map(\.need), in: request.zoneID) {
      case .failure(let failure):
        supply.failure = failure
        return supply
      case .success(let addresses):
        let service = assets.ending(at: settings.transferEnd)
        let jobs = zip(batch, addresses).map { (need: $0.need, file: $0.file, address: $1) }
        supplied += await jobs.concurrently { job -> Supplied in
          do throws(CKError) {
            return (job.need, .success(try await service.upload(job.file, to: try job.address.get())))
          } catch {
            return (job.need, .failure(error))
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

  /// Splits files into batches. Upload addresses are valid for 15 minutes, so each batch is small enough to be uploaded
  /// in that time over a slow connection.
  private static func cut(
    _ files: [(need: Need, file: URL, size: Int64)]
  ) -> [[(need: Need, file: URL, size: Int64)]] {
    var batches: [[(need: Need, file: URL, size: Int64)]] = []
    var bytes: Int64 = 0
    for file in files {
      if let last = batches.last, last.count < largestBatch, bytes + file.size <= 2 * CKAsset.largestFile {
        batches[batches.count - 1].append(file)
        bytes += file.size
      } else {
        batches.append([file])
        bytes = file.size
      }
    }
    return batches
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
    case .success(let addresses): return .success(Self.match(addresses, to: needs))
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

  /// Matches addresses, which come in the order of the request, to needs. Names must match if the server returns them.
  private static func match(_ addresses: [WireAssetAddress], to needs: [Need]) -> [Result<String, CKError>] {
    needs.enumerated().map { index, need in
      guard index < addresses.count, addresses[index].isFor(need.token) else {
        return .failure(CKError(.internalError, "The reply has no upload address for field \(need.key)."))
      }
      return .success(addresses[index].url)
    }
  }

  /// Returns the assets that the server allows to be referenced again. The others must be uploaded, unless the server asks
  /// for a pause, which is the failure.
  private func rereference(
    _ needs: [Need],
    in zoneID: CKRecordZoneID
  ) async -> Result<[Supplied], WebServicesError> {
    let origins = Set(needs.compactMap(\.asset.origin)).sorted {
      ($0.recordID.recordName, $0.key) < ($1.recordID.recordName, $1.key)
    }
    let places = origins.map { WireAssetPlace(recordName: $0.recordID.recordName, fieldName: $0.key) }
    let answer = await attempt { client throws(WebServicesError) in
      try await client.rereferenceAssets(places, zone: zoneID.wire, in: name)
    }
    let elements: [WireRereferencedAsset]
    switch answer {
    case .success(let answered): elements = answered
    case .failure(.server(let failure)) where failure.code == .throttled || failure.retryAfter != nil:
      return .failure(failure)
    case .failure: return .success([])
    }
    let known = needs.compactMap { need -> Supplied? in
      guard let origin = need.asset.origin else { return nil }
      let place = WireAssetPlace(recordName: origin.recordID.recordName, fieldName: origin.key)
      // The checksum proves that the bytes are the same, even if the field has changed since. A receipt is for the
      // asset of one field: another field may hold the same bytes.
      let element = elements.first {
        $0.isFor(place) && $0.asset.receipt != nil && $0.asset.fileChecksum != nil
          && $0.asset.fileChecksum == need.asset.wire?.fileChecksum
      }
      return element.map { (need, .success($0.asset)) }
    }
    return .success(known)
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
