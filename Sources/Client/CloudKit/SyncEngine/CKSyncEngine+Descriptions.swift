// The texts for logs: kinds, names and numbers, but no values of fields. Apple does not document the form.

extension CKSyncEngine: CustomStringConvertible {
  /// The database and the number of pending changes.
  public var description: String {
    let state = state.value
    return "<CKSyncEngine \(database.databaseScope), \(state.recordChanges.changes.count) pending record changes, "
      + "\(state.databaseChanges.changes.count) pending database changes>"
  }
}

extension CKSyncEngine.Configuration: CustomStringConvertible {
  /// The database and whether the engine syncs by itself.
  public var description: String {
    "<CKSyncEngine.Configuration \(database.databaseScope), automaticallySync: \(automaticallySync), "
      + "hasState: \(stateSerialization != nil)>"
  }
}

extension CKSyncEngine.RecordZoneChangeBatch: CustomStringConvertible {
  /// The names of the records.
  public var description: String {
    "<RecordZoneChangeBatch save: [\(names(recordsToSave.map(\.recordID)))], delete: [\(names(recordIDsToDelete))], "
      + "atomicByZone: \(atomicByZone)>"
  }
}

private func names(_ ids: [CKRecord.ID]) -> String { ids.map(\.recordName).joined(separator: ", ") }
private func names(_ ids: [CKRecordZone.ID]) -> String { ids.map(\.zoneName).joined(separator: ", ") }

extension CKSyncEngine.PendingRecordZoneChange: CustomStringConvertible {
  /// The kind of the change and the record's name.
  public var description: String {
    switch self {
    case .saveRecord(let id): "saveRecord(\(id.recordName))"
    case .deleteRecord(let id): "deleteRecord(\(id.recordName))"
    }
  }
}

extension CKSyncEngine.PendingDatabaseChange: CustomStringConvertible {
  /// The kind of the change and the zone's name.
  public var description: String { "\(isSave ? "saveZone" : "deleteZone")(\(id.zoneName))" }
}

// MARK: - Options

extension CKSyncEngine.SyncReason: CustomStringConvertible {
  /// The name of the reason.
  public var description: String {
    switch self {
    case .scheduled: "scheduled"
    case .manual: "manual"
    }
  }
}

extension CKSyncEngine.FetchChangesOptions.Scope: CustomStringConvertible {
  /// The kind of the scope and the names of its zones.
  public var description: String {
    switch self {
    case .all: "all"
    case .allExcluding(let zoneIDs): "allExcluding(\(names(zoneIDs)))"
    case .zoneIDs(let zoneIDs): "zoneIDs(\(names(zoneIDs)))"
    }
  }
}

extension CKSyncEngine.FetchChangesOptions: CustomStringConvertible {
  /// The scope and the zones to fetch first.
  public var description: String {
    "<FetchChangesOptions scope: \(scope), prioritizedZoneIDs: [\(names(prioritizedZoneIDs))]>"
  }
}

extension CKSyncEngine.FetchChangesContext: CustomStringConvertible {
  /// The reason and the options.
  public var description: String { "<FetchChangesContext reason: \(reason), options: \(options)>" }
}

extension CKSyncEngine.SendChangesOptions.Scope: CustomStringConvertible {
  /// The kind of the scope and the names of its zones or records.
  public var description: String {
    switch self {
    case .all: "all"
    case .allExcluding(let zoneIDs): "allExcluding(\(names(zoneIDs)))"
    case .zoneIDs(let zoneIDs): "zoneIDs(\(names(zoneIDs)))"
    case .recordIDs(let recordIDs): "recordIDs(\(names(recordIDs)))"
    }
  }
}

extension CKSyncEngine.SendChangesOptions: CustomStringConvertible {
  /// The scope.
  public var description: String { "<SendChangesOptions scope: \(scope)>" }
}

extension CKSyncEngine.SendChangesContext: CustomStringConvertible {
  /// The reason and the options.
  public var description: String { "<SendChangesContext reason: \(reason), options: \(options)>" }
}

// MARK: - Events

extension CKSyncEngine.Event: CustomStringConvertible {
  /// The kind of the event and its content.
  public var description: String {
    switch self {
    case .stateUpdate(let event): event.description
    case .accountChange(let event): event.description
    case .fetchedDatabaseChanges(let event): event.description
    case .fetchedRecordZoneChanges(let event): event.description
    case .sentDatabaseChanges(let event): event.description
    case .sentRecordZoneChanges(let event): event.description
    case .willFetchChanges(let event): event.description
    case .willFetchRecordZoneChanges(let event): event.description
    case .didFetchRecordZoneChanges(let event): event.description
    case .didFetchChanges(let event): event.description
    case .willSendChanges(let event): event.description
    case .didSendChanges(let event): event.description
    }
  }
}

extension CKSyncEngine.Event.StateUpdate: CustomStringConvertible {
  /// The number of pending changes.
  public var description: String {
    "<StateUpdate \(stateSerialization.recordChanges.count) pending record changes, "
      + "\(stateSerialization.databaseChanges.count) pending database changes>"
  }
}

extension CKSyncEngine.Event.AccountChange: CustomStringConvertible {
  /// The kind of the change and the names of the users' records.
  public var description: String {
    switch changeType {
    case .signIn(let user): "<AccountChange signIn(\(user.recordName))>"
    case .signOut(let user): "<AccountChange signOut(\(user.recordName))>"
    case .switchAccounts(let previous, let current):
      "<AccountChange switchAccounts(\(previous.recordName), \(current.recordName))>"
    }
  }
}

extension CKSyncEngine.Event.FetchedDatabaseChanges: CustomStringConvertible {
  /// The names of the zones.
  public var description: String {
    "<FetchedDatabaseChanges modified: [\(names(modifications.map(\.zoneID)))], "
      + "deleted: [\(names(deletions.map(\.zoneID)))]>"
  }
}

extension CKSyncEngine.Event.FetchedRecordZoneChanges: CustomStringConvertible {
  /// The names of the records.
  public var description: String {
    "<FetchedRecordZoneChanges modified: [\(names(modifications.map(\.record.recordID)))], "
      + "deleted: [\(names(deletions.map(\.recordID)))]>"
  }
}

extension CKSyncEngine.Event.SentDatabaseChanges: CustomStringConvertible {
  /// The names of the zones.
  public var description: String {
    "<SentDatabaseChanges saved: [\(names(savedZones.map(\.zoneID)))], failed: \(failedZoneSaves), "
      + "deleted: [\(names(deletedZoneIDs))], failedDeletes: [\(names(Array(failedZoneDeletes.keys)))]>"
  }
}

extension CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave: CustomStringConvertible {
  /// The zone's name and the error.
  public var description: String { "\(zone.zoneID.zoneName): \(error.localizedDescription)" }
}

extension CKSyncEngine.Event.SentRecordZoneChanges: CustomStringConvertible {
  /// The names of the records.
  public var description: String {
    "<SentRecordZoneChanges saved: [\(names(savedRecords.map(\.recordID)))], failed: \(failedRecordSaves), "
      + "deleted: [\(names(deletedRecordIDs))], failedDeletes: [\(names(Array(failedRecordDeletes.keys)))]>"
  }
}

extension CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave: CustomStringConvertible {
  /// The record's name and the error.
  public var description: String { "\(record.recordID.recordName): \(error.localizedDescription)" }
}

extension CKSyncEngine.Event.WillFetchChanges: CustomStringConvertible {
  /// The context.
  public var description: String { "<WillFetchChanges \(context)>" }
}

extension CKSyncEngine.Event.WillFetchRecordZoneChanges: CustomStringConvertible {
  /// The zone's name.
  public var description: String { "<WillFetchRecordZoneChanges \(zoneID.zoneName)>" }
}

extension CKSyncEngine.Event.DidFetchRecordZoneChanges: CustomStringConvertible {
  /// The zone's name, and the error if the fetch failed.
  public var description: String {
    "<DidFetchRecordZoneChanges \(zoneID.zoneName)\(error.map { ": \($0.localizedDescription)" } ?? "")>"
  }
}

extension CKSyncEngine.Event.DidFetchChanges: CustomStringConvertible {
  /// The context.
  public var description: String { "<DidFetchChanges \(context)>" }
}

extension CKSyncEngine.Event.WillSendChanges: CustomStringConvertible {
  /// The context.
  public var description: String { "<WillSendChanges \(context)>" }
}

extension CKSyncEngine.Event.DidSendChanges: CustomStringConvertible {
  /// The context.
  public var description: String { "<DidSendChanges \(context)>" }
}
