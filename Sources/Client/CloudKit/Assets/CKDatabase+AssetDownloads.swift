internal import Foundation

extension CKDatabase {
  /// Enables the assets of records to be downloaded from this database.
  package func adoptAssets(of records: [CKRecord]) {
    let database = unconfigured
    for record in records {
      for asset in record.snapshot.assets { asset.belongs(to: database) }
    }
  }

  /// Enables the assets of records to be downloaded, and downloads their files now if downloads are eager.
  ///
  /// - Returns: An error for each record whose files could not be downloaded.
  /// - Throws: `CKError.operationCancelled`.
  func receiveAssets(of records: [CKRecord]) async throws(CKError) -> [CKRecord.ID: CKError] {
    adoptAssets(of: records)
    guard assets.isEager else { return [:] }
    let wanted = records.flatMap(\.snapshot.assets).filter { $0.localFile == nil && $0.wire?.downloadURL != nil }
    guard !wanted.isEmpty else { return [:] }
    for asset in wanted {
      if let id = asset.origin?.recordID { settings.progress?.expect(asset.wire?.size ?? 0, of: id) }
    }
    var failures: [CKRecord.ID: CKError] = [:]
    for (index, error) in await download(wanted) {
      if let id = wanted[index].origin?.recordID { failures[id] = error }
    }
    guard !Task.isCancelled else { throw CKError(.operationCancelled, "The call was cancelled.") }
    return failures
  }

  /// Downloads the assets of fetched records if downloads are eager, and replaces a record by the error of its assets.
  func receivingAssets<ID: Hashable>(
    of results: [ID: Result<CKRecord, any Error>]
  ) async throws(CKError) -> [ID: Result<CKRecord, any Error>] {
    let failures = try await receiveAssets(of: results.values.compactMap { try? $0.get() })
    return failures.isEmpty ? results : results.mapValues { $0.failing(by: failures) }
  }

  /// Downloads the files of assets, four at a time. An expired address is replaced once by a fresh one.
  ///
  /// - Returns: The errors of assets that could not be downloaded, by index.
  package func download(_ assets: [CKAsset]) async -> [Int: CKError] {
    var (failures, gone) = await attemptDownloads(of: assets, at: Array(assets.indices))
    guard !gone.isEmpty else { return failures }
    let fresh = await freshDescriptors(of: gone.compactMap { assets[$0].origin })
    var renewed: [Int] = []
    for index in gone {
      switch assets[index].origin.flatMap({ fresh[$0] }) {
      case .failure(let error): failures[index] = error
      case .success(let descriptors):
        let checksum = assets[index].wire?.fileChecksum
        if let descriptor = descriptors.first(where: { $0.fileChecksum == checksum }) {
          assets[index].renew(descriptor)
          renewed.append(index)
        } else {
          failures[index] = .assetNotAvailable("The record's file was replaced. Fetch the record again.")
        }
      case nil: failures[index] = .assetNotAvailable("The asset's record is unknown. Fetch the record again.")
      }
    }
    (failures, gone) = await attemptDownloads(of: assets, at: renewed, after: failures)
    for index in gone { failures[index] = .assetNotAvailable("The server no longer has the file.") }
    return failures
  }

  /// - Returns: The errors by index, and the indices of assets whose addresses have expired.
  private func attemptDownloads(
    of assets: [CKAsset],
    at indices: [Int],
    after failures: [Int: CKError] = [:]
  ) async -> (failures: [Int: CKError], gone: [Int]) {
    let service = self.assets.ending(at: settings.transferEnd)
    let progress = settings.progress
    let results = await indices.concurrently { index -> (index: Int, error: CKError?)? in
      let asset = assets[index]
      guard asset.localFile == nil, let wire = asset.wire else { return nil }
      do throws(DownloadFailure) {
        guard
          let file = try await service.download(
            wire,
            named: asset.origin?.key ?? "asset",
            reporting: asset.origin.flatMap { progress?.bytes(of: $0.recordID) }
          )
        else { return (index, nil) }
        asset.take(file)
        return nil
      } catch {
        return (index, CKError(error))
      }
    }
    var failures = failures
    var gone: [Int] = []
    for case let (index, error)? in results {
      if let error { failures[index] = error } else { gone.append(index) }
    }
    return (failures, gone)
  }

  /// Returns the fields' current descriptors on the server, fetched with as few requests as their zones allow.
  private func freshDescriptors(
    of origins: [CKAsset.Origin]
  ) async -> [CKAsset.Origin: Result<[WireAsset], CKError>] {
    let keys = Set(origins.map(\.key)).sorted()
    let ids = Array(Set(origins.map(\.recordID)))
    var fresh: [CKAsset.Origin: Result<[WireAsset], CKError>] = [:]
    do {
      let results = try await readRecords(for: ids, desiredKeys: keys)
      for origin in origins {
        fresh[origin] =
          switch results[origin.recordID] {
          case .success(let record): .success(record.snapshot.fields[origin.key]?.wire?.assets ?? [])
          case .failure(let error as CKError) where error.code != .unknownItem: .failure(error)
          case .failure, nil: .failure(.assetNotAvailable("The asset's record no longer exists."))
          }
      }
    } catch {
      let error = error as? CKError ?? CKError(.internalError, "The asset's record could not be fetched.")
      for origin in origins { fresh[origin] = .failure(error) }
    }
    return fresh
  }
}

extension Result where Success == CKRecord, Failure == any Error {
  /// Returns this result, or the error of the record's assets.
  func failing(by failures: [CKRecord.ID: CKError]) -> Self {
    guard case .success(let record) = self, let error = failures[record.recordID] else { return self }
    return .failure(error)
  }
}

extension CKError {
  fileprivate static func assetNotAvailable(_ message: String) -> CKError { CKError(Code.assetNotAvailable, message) }
}
