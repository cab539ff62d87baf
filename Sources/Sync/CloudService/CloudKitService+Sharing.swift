public import CloudKit
import CloudSync

/// Records that others share with the user.
extension CloudKitService {
  /// Accepts a share and fetches its records, which are synced from now on, also by a later process.
  ///
  /// ```swift
  /// let metadata = try await container.shareMetadata(for: url)
  /// try await service.accept(metadata)
  /// ```
  ///
  /// If the records cannot be fetched now, the share is accepted all the same; ``shared`` then has the error.
  ///
  /// - Throws: `CloudKitServiceError` if the service is read-only or not for a private database, or the server does not
  ///   accept it; `StoreError` if the store of shared records cannot be used.
  @discardableResult
  public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
    guard let engine, let openShared, !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    // Opened before the server accepts: if the process ends in between, the next one finds the store and fetches.
    let shared = try openedShared(by: openShared)
    let share: CKShare
    do {
      share = try await CKContainer(sharing: engine.configuration.client).accept(metadata)
    } catch {
      throw CloudKitServiceError(error)
    }
    _ = try? await shared.sync()
    return share
  }

  /// The service that syncs a zone: a zone of another user is in the shared database.
  func service(for zone: CKRecordZone.ID) throws -> CloudKitService {
    guard let openShared, try isShared(zone) else { return self }
    return try openedShared(by: openShared)
  }

  /// Whether a zone is in the shared database: that of another user, beside a private database.
  func isShared(_ zone: CKRecordZone.ID) throws -> Bool {
    guard openShared != nil else { return false }
    return try !(store?.key(of: zone) ?? ZoneKey(zone)).owner.isEmpty
  }

  private func openedShared(by open: () throws -> CloudKitService) throws -> CloudKitService {
    if let shared { return shared }
    guard !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let shared = try open()
    // Before anything is synced.
    if try store?.pauses().ofEverything != nil {
      try shared.store?.pause(.everything, actor: Self.actor)
    }
    self.shared = shared
    if syncing == .always { shared.start() }
    return shared
  }
}
