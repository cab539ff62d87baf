extension CKDatabase {
  /// Removes a record from the cache, so that the next fetch returns the server's version.
  public func forget(_ recordID: CKRecord.ID) {
    try? client.get().forget(name, zone: recordID.zoneID.wire, recordName: recordID.recordName)
  }

  /// Returns the records that the cache has with the desired fields, as new instances.
  ///
  /// - Throws: `CKError.operationCancelled`, as a fetch from the server does.
  func cachedRecords(
    for ids: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]?
  ) throws(CKError) -> [CKRecord.ID: Result<CKRecord, any Error>] {
    guard case .success(let client) = client, client.configuration.cache != nil else { return [:] }
    guard !Task.isCancelled else { throw CKError(.operationCancelled, "The call was cancelled.") }
    var records: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    for (zoneID, ids) in ids.grouped(by: \.zoneID) {
      let names = ids.map(\.recordName)
      let found = client.cachedRecords(named: names, zone: zoneID.wire, desiredKeys: desiredKeys, in: name)
      for id in ids {
        if let wire = found[id.recordName] { records[id] = .success(.received(wire, zoneID: zoneID)) }
      }
    }
    return records
  }
}

extension CKContainer {
  /// Removes all records of the container from the cache.
  public func forgetRecords() { try? client.get().forget() }

  /// Removes the records that a push may concern from the cache. The sequence `notifications` does this itself; call it
  /// for pushes that you receive in another way.
  public func forget(_ notification: CKNotification) {
    let subject = notification.subject
    // Any part of a push may be missing.
    let database = subject.dbs == nil ? nil : database(with: subject.scope).name
    let query = notification as? CKQueryNotification
    // A deletion can delete records that refer to the deleted one.
    let recordID = query?.queryNotificationReason == .recordDeleted ? nil : query?.recordID
    let zoneID = query?.recordID?.zoneID ?? subject.zoneID
    try? client.get().forget(database, zone: zoneID?.wire, recordName: recordID?.recordName)
  }
}
