extension CKDatabase {
  /// Fetches all zones of the database.
  public func allRecordZones() async throws -> [CKRecordZone] {
    let answer = try await perform(.read) { client throws(WebServicesError) in try await client.listZones(in: name) }
    return try answer.compactMap { element in
      switch element {
      case .deleted: nil
      case .item(let zone): CKRecordZone(zoneID: CKRecordZoneID(wire: zone.zoneID, in: databaseScope))
      case .failure(_, let failure): throw CKError(failure, in: .item)
      }
    }
  }

  /// Fetches a zone, and its share with one more request.
  ///
  /// - Throws: `CKError.zoneNotFound` if it does not exist, or another error if it could not be fetched.
  public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
    let zone = try await recordZones(for: [zoneID]).item(zoneID, in: .read)
    guard databaseScope != .public, !zoneID.isDefault else { return zone }
    let share = CKRecordID(recordName: CKRecordNameZoneWideShare, zoneID: zoneID)
    // The zone is there, whether or not its share can be fetched.
    guard (try? await readRecords(for: [share])[share]?.get()) != nil else { return zone }
    return CKRecordZone(zoneID: zone.zoneID, share: CKRecord.Reference(recordID: share, action: .none))
  }

  /// Fetches several zones without their shares, each with its own result.
  public func recordZones(
    for ids: [CKRecordZone.ID]
  ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
    let found = try await results(of: ids, id: \.wire, .read) { client, ids throws(WebServicesError) in
      try await client.lookupZones(ids.map(\.wire), in: name)
    }
    return Dictionary(zip(ids, found).map { id, result in (id, result.map { _ in CKRecordZone(zoneID: id) }) }) { $1 }
  }

  /// Creates a zone. Succeeds if it already exists. Private database only.
  @discardableResult
  public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
    try await modifyRecordZones(saving: [zone], deleting: []).saveResults.item(zone.zoneID, in: .write)
  }

  /// Deletes a zone and all its records. Private database only.
  ///
  /// - Throws: `CKError.zoneNotFound` if the server has no such zone, as in Apple's framework, or another error.
  @discardableResult
  public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
    try await modifyRecordZones(saving: [], deleting: [zoneID]).deleteResults.item(zoneID, in: .write)
    return zoneID
  }

  /// Creates zones, then deletes zones, each with its own result. Private database only; never atomic.
  ///
  /// - Throws: `CKError.invalidArguments` if a zone appears twice, or the error of a request that failed as a whole.
  @discardableResult
  public func modifyRecordZones(
    saving recordZonesToSave: [CKRecordZone],
    deleting recordZoneIDsToDelete: [CKRecordZone.ID]
  ) async throws -> ModifyResults<CKRecordZone.ID, CKRecordZone> {
    let saves = recordZonesToSave.map(\.zoneID)
    guard (saves + recordZoneIDsToDelete).isWithoutRepetition else {
      throw CKError.invalidArguments("A zone appears twice in one call.")
    }
    let operations =
      saves.map { WireZoneOperation(.create, $0.wire) }
      + recordZoneIDsToDelete.map { WireZoneOperation(.delete, $0.wire) }
    let results = try await results(of: operations, id: \.id, .write) { client, part throws(WebServicesError) in
      try await client.modifyZones(part, in: name)
    }
    let saved = zip(recordZonesToSave, results).map { zone, result in
      (zone.zoneID, result.map { _ in zone }.existingCounts(as: zone))
    }
    let deleted = zip(recordZoneIDsToDelete, results.dropFirst(saves.count)).map { ($0, $1.map { _ in }) }
    return (Dictionary(uniqueKeysWithValues: saved), Dictionary(uniqueKeysWithValues: deleted))
  }
}

extension Result<CKRecordZone, any Error> {
  /// Treats creating an existing zone as success: the documentation does not define it, and callers do not need an
  /// error.
  fileprivate func existingCounts(as zone: CKRecordZone) -> Self {
    switch self {
    case .failure(let error as CKError) where error.serverErrorCode == ServerErrorCode.exists.name: .success(zone)
    case .success, .failure: self
    }
  }
}
