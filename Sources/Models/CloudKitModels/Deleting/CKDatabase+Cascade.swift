public import CloudKit

/// Cascading deletes of models.
extension CKDatabase {
  /// Deletes the record of a model and the records that a cascade names, found on the server.
  ///
  /// They are deleted in the order of ``CKDeletionPlan/records``. In a custom zone each request of up to 200 records is
  /// atomic. When the server refuses one, the deletion stops, and the records after it are kept.
  ///
  /// ```swift
  /// let report = try await database.delete(department, cascade: .children)
  /// if let error = report.error { print("kept", department.id, error) }
  /// ```
  ///
  /// - Returns: The result of each record.
  /// - Throws: `CKError` if the records cannot be found, or the first request failed as a whole. With
  ///   `serverResponseLost` its records may be deleted.
  public func delete(
    _ model: some CKRecordModel,
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> CKDeletionReport { try await delete([model], cascade: cascade, in: zoneID) }

  /// Deletes the records of several models and the records that a cascade names, as
  /// ``delete(_:cascade:in:)-(CKRecordModel,_,_)`` does.
  public func delete<Model: CKRecordModel>(
    _ models: [Model],
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> CKDeletionReport {
    try await delete(plan(deleting: models, cascade: cascade, in: zoneID))
  }

  /// Returns the records that `delete(_:cascade:in:)` would delete, and deletes nothing.
  ///
  /// - Throws: `CKError.invalidArguments` for `children` in a zone without a change feed; another `CKError` if the
  ///   records cannot be found; `CKModelError` if a model's archive is damaged.
  public func plan<Model: CKRecordModel>(
    deleting model: Model,
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> CKDeletionPlan { try await plan(deleting: [model], cascade: cascade, in: zoneID) }

  /// Returns the records that `delete(_:cascade:in:)` would delete, and deletes nothing.
  public func plan<Model: CKRecordModel>(
    deleting models: [Model],
    cascade: CKCascade,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> CKDeletionPlan {
    let encoder = CKRecordEncoder(zoneID: try zone(zoneID, of: Model.self))
    let ids = try models.map { try encoder.place(of: $0).recordID }
    try Self.refuseRepeated(ids)
    let database = withoutDownloads
    return try await DeletionSearch.plan(
      deleting: ids,
      cascade: cascade,
      records: { ids in
        try await database.uncachedRecords(for: ids).values.compactMap { result in
          do { return LinkedRecord(try result.get()) } catch let error as CKError where error.isAbsence { return nil }
        }
      },
      zone: database.linkedRecords
    )
  }

  private func linkedRecords(in zoneID: CKRecordZone.ID) async throws -> [LinkedRecord] {
    guard databaseScope != .public, zoneID.zoneName != CKRecordZone.ID.defaultZoneName else {
      throw CKError(
        .invalidArguments,
        "Children are found in a change feed, which the zone \(zoneID.zoneName) does not have. Query them by type."
      )
    }
    var records: [CKRecord.ID: LinkedRecord] = [:]
    do {
      try await FetchPositions.follow(from: CKServerChangeToken?.none) { token in
        let page = try await recordZoneChanges(inZoneWith: zoneID, since: token)
        for (id, result) in page.modificationResultsByID { records[id] = LinkedRecord(try result.get().record) }
        for deletion in page.deletions { records[deletion.recordID] = nil }
        return page.moreComing ? page.changeToken : nil
      }
      return Array(records.values)
    } catch let error as CKError where error.code == .zoneNotFound {
      return []
    }
  }

  /// Deletes the records of a plan, and no others.
  ///
  /// - Throws: `CKError` if the first request failed as a whole. With `serverResponseLost` its records may be deleted.
  public func delete(_ plan: CKDeletionPlan) async throws -> CKDeletionReport {
    var outcomes: [CKRecord.ID: CKDeletionReport.Outcome] = [:]
    for (records, isAtomic) in plan.requests {
      do {
        outcomes.merge(try await delete(records.map(\.recordID), atomically: isAtomic)) { $1 }
      } catch  where !outcomes.isEmpty {
        for record in records { outcomes[record.recordID] = .failed(error) }
      }
      if !outcomes.values.allSatisfy(\.isDeleted) { break }
    }
    return CKDeletionReport(results: plan.records.map { ($0, outcomes[$0.recordID] ?? .kept) })
  }

  private func delete(
    _ ids: [CKRecord.ID],
    atomically: Bool
  ) async throws -> [CKRecord.ID: CKDeletionReport.Outcome] {
    var outcomes: [CKRecord.ID: CKDeletionReport.Outcome] = [:]
    var left = ids
    while !left.isEmpty {
      let results = try await modifyRecords(saving: [], deleting: left, atomically: atomically).deleteResults
      for id in left { outcomes[id] = .init(results[id] ?? .failure(Self.unanswered(id))) }
      // Records that are gone refuse an atomic request, and are what was asked for.
      let refused = left.filter { outcomes[$0]?.isDeleted != true }
      guard atomically, refused.count < left.count, refused.allSatisfy({ outcomes[$0]?.isKept == true }) else { break }
      left = refused
    }
    return outcomes
  }
}

extension CKError {
  /// Whether the server does not have the record.
  var isAbsence: Bool { code == .unknownItem || code == .zoneNotFound }
}

extension CKDeletionReport.Outcome {
  fileprivate init(_ result: Result<Void, any Error>) {
    switch result {
    case .success: self = .deleted
    case .failure(let error as CKError) where error.isAbsence: self = .deleted
    case .failure(let error as CKError) where error.code == .batchRequestFailed: self = .kept
    case .failure(let error): self = .failed(error)
    }
  }

  fileprivate var isDeleted: Bool { if case .deleted = self { true } else { false } }
  fileprivate var isKept: Bool { if case .kept = self { true } else { false } }
}
