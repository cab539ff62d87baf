import CloudKit
import Testing

// Names that apps use beside those of the libraries: older forms, key-value coding, subscriptions in one expression.

@Suite(.serialized) struct NeighbourTests {
  @Test func `fields are set and read as dictionaries`() {
    let record = CKRecord(recordType: "Note")
    record["gone"] = "soon"
    record.setValuesForKeys(["title": "Milk", "count": 2, "gone": NSNull()])
    let values = record.dictionaryWithValues(forKeys: ["title", "count", "gone"])

    #expect(record.allKeys() == ["count", "title"])
    #expect(values["title"] as? String == "Milk")
    #expect(values["count"] as? Int == 2)
    #expect(values["gone"] is NSNull)
  }

  @Test func `the older query returns records`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1")))
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))

    let found = try await database.perform(query, inZoneWith: nil)

    #expect(found.map { $0.recordID.recordName } == ["n1"])
  }

  @Test func `a zone has an owner's older name and no share`() {
    let zone = CKRecordZone(zoneID: CKRecordZone.ID(zoneName: "Notes", ownerName: CKOwnerDefaultName))

    #expect(zone.zoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: CKCurrentUserDefaultName))
    #expect(zone.share == nil)
  }

  @Test func `a push is made in one expression`() {
    let info = CKSubscription.NotificationInfo(
      alertBody: "New",
      titleLocalizationArgs: ["title"],
      desiredKeys: ["count"],
      shouldSendContentAvailable: true,
      category: "notes"
    )

    #expect(info.alertBody == "New")
    #expect(info.titleLocalizationArgs == ["title"])
    #expect(info.alertLocalizationArgs == nil)
    #expect(info.desiredKeys == ["count"])
    #expect(info.shouldSendContentAvailable)
    #expect(!info.shouldBadge)
    #expect(info.category == "notes")
    #expect(CKSubscription.NotificationInfo().category == nil)
  }

  @Test func `a subscription to a zone or a database is saved with a record type`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
    let narrowed = CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "zone")
    narrowed.recordType = "Note"
    let everything = CKDatabaseSubscription(subscriptionID: "all")
    everything.recordType = "Note"

    #expect((everything.copy() as? CKDatabaseSubscription)?.recordType == "Note")
    let (results, _) = try await database.modifySubscriptions(saving: [narrowed, everything], deleting: [])

    let saved = try results.values.map { try $0.get() }
    #expect(saved.compactMap { ($0 as? CKRecordZoneSubscription)?.recordType } == ["Note"])
    #expect(saved.compactMap { ($0 as? CKDatabaseSubscription)?.recordType } == ["Note"])
    #expect(try await database.allSubscriptions().count == 2)
  }

  @Test func `changes and policies are named by their types`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let policy: CKModifyRecordsOperation.RecordSavePolicy = .allKeys
    let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1", zoneID: zone.zoneID))
    _ = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: policy)

    let changes = try await database.databaseChanges(since: nil)
    let modifications: [CKDatabase.DatabaseChange.Modification] = changes.modifications
    let deletions: [CKDatabase.DatabaseChange.Deletion] = changes.deletions

    #expect(modifications.map { $0.zoneID } == [zone.zoneID])
    #expect(deletions.isEmpty)
  }

  @Test func `a fetch of a zone's changes ends with a result`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
    let operation = CKFetchRecordZoneChangesOperation(
      recordZoneIDs: [zone.zoneID],
      configurationsByRecordZoneID: [zone.zoneID: CKFetchRecordZoneChangesOperation.ZoneConfiguration()]
    )

    try await withCheckedThrowingContinuation { continuation in
      operation.fetchRecordZoneChangesResultBlock = { result in continuation.resume(with: result) }
      database.add(operation)
    }
  }
}
