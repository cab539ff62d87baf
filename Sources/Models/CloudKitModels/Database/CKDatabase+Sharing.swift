public import CloudKit

/// Sharing the records of models, and whole zones.
///
/// Two devices that share the same record or zone at the same time get the same share.
extension CKDatabase {
  /// Returns the share of a model's record and of all records below it. Creates the share if there is none.
  ///
  /// ```swift
  /// let share = try await database.share(list, title: "Groceries")
  /// send(share.url)
  /// ```
  ///
  /// - Parameter title: The title of a new share, which invited people see. An existing share keeps its title.
  /// - Throws: `CKError.unknownItem` if the model has not been saved; otherwise the server's error, for example because
  ///   records in the default zone cannot be shared.
  public func share(
    _ model: some CKRecordModel,
    title: String? = nil,
    in zoneID: CKRecordZone.ID? = nil
  ) async throws -> CKShare {
    let id = try CKRecordEncoder(zoneID: try zone(zoneID, of: type(of: model))).place(of: model).recordID
    return try await savedShare(titled: title) {
      let root = try await uncachedRecords(for: [id])[id].map { try missingZoneIsEmpty($0, zoneID).get() }
      guard let root else { throw Self.unanswered(id) }
      guard let share = root.share else { return ([root], CKShare(rootRecord: root)) }
      return ([], try await existingShare(share.recordID))
    }
  }

  /// Returns the share of a whole zone. Creates the share if there is none.
  ///
  /// - Parameter title: The title of a new share, which invited people see. An existing share keeps its title.
  /// - Throws: `CKError.zoneNotFound` if the zone does not exist; otherwise the server's error, for example because the
  ///   default zone cannot be shared.
  public func shareZone(_ zoneID: CKRecordZone.ID, title: String? = nil) async throws -> CKShare {
    try await savedShare(titled: title) {
      do {
        return ([], try await existingShare(CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: zoneID)))
      } catch let error as CKError where error.code == .unknownItem {
        return ([], CKShare(recordZoneID: zoneID))
      }
    }
  }

  private func existingShare(_ id: CKRecord.ID) async throws -> CKShare {
    guard let share = try await record(for: id) as? CKShare else {
      throw CKError(.badContainer, "The record \(id.recordName) is not a share.")
    }
    return share
  }

  /// Saves a new share, with its root record, and finds another device's if that was faster.
  private func savedShare(
    titled title: String?,
    _ find: () async throws -> (root: [CKRecord], share: CKShare)
  ) async throws -> CKShare {
    var attempt = 1
    while true {
      let (root, share) = try await find()
      if share.recordChangeTag != nil { return share }
      if let title { share[CKShare.SystemFieldKey.title] = title }
      do {
        let results = try await modifyRecords(saving: root + [share], deleting: [], atomically: false).saveResults
        for record in root + [share] {
          guard let result = results[record.recordID] else { throw Self.unanswered(record.recordID) }
          _ = try result.get()
        }
        return share
      } catch let error as CKError where error.code == .serverRecordChanged && attempt < Self.attempts {
        attempt += 1
      }
    }
  }
}
