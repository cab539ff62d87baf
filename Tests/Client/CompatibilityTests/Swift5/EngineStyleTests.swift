import CloudKit
import Testing

// Code in the style of a small sync engine: an observable object that imports CloudKit alone, tokens and system fields
// as archives in defaults and files, change operations with captured variables.

final class Engine: ObservableObject {
  enum State {
    case idle
    case stopped(Error)
    case completed(date: Date)
  }

  let container: CKContainer
  let defaults: UserDefaults
  @Published var state: State = .idle
  @Published var accountStatus: CKAccountStatus = .available

  init(container: CKContainer, suiteName: String) {
    self.container = container
    self.defaults = UserDefaults(suiteName: suiteName) ?? .standard
  }

  private func token(_ key: String) -> CKServerChangeToken? {
    guard let text = defaults.string(forKey: key), let data = Data(base64Encoded: text) else { return nil }
    return try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
  }

  func fetch(in scope: CKDatabase.Scope) async throws -> (changed: [CKRecord], deleted: [CKRecord.ID]) {
    let database = container.database(with: scope)
    var databaseToken = token("database")
    var moreComing: Bool
    var zoneIDs: [CKRecordZone.ID] = []
    repeat {
      let response = try await database.databaseChanges(since: databaseToken)
      zoneIDs += response.modifications.map { $0.zoneID }
      zoneIDs.removeAll { zoneID in response.deletions.contains { $0.zoneID == zoneID } }
      databaseToken = response.changeToken
      moreComing = response.moreComing
    } while moreComing

    typealias ZoneConfig = CKFetchRecordZoneChangesOperation.ZoneConfiguration
    var configurations: [CKRecordZone.ID: ZoneConfig] = [:]
    zoneIDs.forEach { zoneID in
      configurations[zoneID] = .init(previousServerChangeToken: token(zoneID.zoneName))
    }
    var newTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
    var changed: [CKRecord] = []
    var deleted: [(record: CKRecord.ID, recordType: CKRecord.RecordType)] = []

    await withCheckedContinuation { continuation in
      let operation = CKFetchRecordZoneChangesOperation(
        recordZoneIDs: zoneIDs,
        configurationsByRecordZoneID: configurations
      )
      operation.fetchAllChanges = true
      operation.recordZoneFetchResultBlock = { [weak self] zoneID, result in
        switch result {
        case .success((let token, _, let moreComing)):
          assert(!moreComing)
          newTokens[zoneID] = token
        case .failure(let error):
          if let error = error as? CKError, error.code == .changeTokenExpired {
            self?.defaults.setValue(nil, forKey: zoneID.zoneName)
          }
        }
      }
      operation.recordWasChangedBlock = { recordID, result in
        switch result {
        case .success(let record): changed.append(record)
        case .failure: break
        }
      }
      operation.recordWithIDWasDeletedBlock = { recordID, recordType in
        deleted.append((recordID, recordType))
      }
      operation.recordZoneChangeTokensUpdatedBlock = { zoneID, token, _ in
        if let token { newTokens[zoneID] = token }
      }
      operation.completionBlock = { continuation.resume() }
      database.add(operation)
    }

    defaults.setValue(databaseToken?.asString(), forKey: "database")
    newTokens.forEach { zoneID, token in defaults.setValue(token.asString(), forKey: zoneID.zoneName) }
    state = .completed(date: .now)
    return (changed, deleted.map { $0.record })
  }

  func intercept(_ error: Error) {
    guard let error = error as? CKError else { return }
    switch error.code {
    case .managedAccountRestricted: accountStatus = .restricted
    case .notAuthenticated: accountStatus = .noAccount
    case .accountTemporarilyUnavailable: accountStatus = .temporarilyUnavailable
    default: break
    }
  }
}

@Suite(.serialized) struct EngineStyleTests {
  private let zoneID = CKRecordZone.ID(zoneName: "Project", ownerName: CKCurrentUserDefaultName)

  @Test func `changes are fetched from the point where the last fetch ended`() async throws {
    let suite = "engine-\(UUID().uuidString)"
    let engine = Engine(container: try emulatedContainer(), suiteName: suite)
    defer { engine.defaults.removePersistentDomain(forName: suite) }
    let database = engine.container.database(with: .private)
    let zones = try await database.modifyRecordZones(saving: [.init(zoneID: zoneID)], deleting: [])
    let task = CKRecord(recordType: "Task", recordID: .init(recordName: "t", zoneID: zoneID))
    let items: [Any] = [1, 2]
    let note: String? = nil
    task["title"] = "Milk"
    task["isDone"] = false as Bool?
    task["numbers"] = items as NSArray
    task["note"] = note
    task["project"] = CKRecord.Reference.init(
      recordID: CKRecord.ID(recordName: "p", zoneID: zoneID),
      action: CKRecord.ReferenceAction.deleteSelf
    )
    task.parent = .init(recordID: .init(recordName: "p", zoneID: zoneID), action: .none)
    let project = CKRecord(recordType: "Project", recordID: .init(recordName: "p", zoneID: zoneID))

    let saved = try await database.modifyRecords(
      saving: [project, task],
      deleting: [],
      savePolicy: .allKeys,
      atomically: false
    )
    let first = try await engine.fetch(in: .private)
    let again = try await engine.fetch(in: .private)
    _ = try await database.modifyRecords(saving: [], deleting: [task.recordID])
    let last = try await engine.fetch(in: .private)

    #expect(zones.saveResults[zoneID] != nil)
    #expect(saved.saveResults.count == 2)
    #expect(Set(first.changed.map { $0.recordID.recordName }) == ["p", "t"])
    let fetched = try #require(first.changed.first { $0.recordType == "Task" })
    let isDone: Bool? = fetched.value(for: "isDone")
    let numbers: [Int]? = fetched.value(for: "numbers")
    let projectID: String? = fetched.value(for: "project")
    #expect(isDone == false && numbers == [1, 2] && projectID == "p")
    #expect(fetched.parent?.recordID.recordName == "p")
    #expect(again.changed.isEmpty)
    #expect(last.deleted == [task.recordID])
    _ = try await database.deleteRecordZone(withID: zoneID)
  }

  @Test func `a record whose missing parent is cleared again, and a share of it, are saved`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    try await database.save(.init(zoneID: zoneID))
    let saved = try await database.save(CKRecord(recordType: "Task", recordID: .init(recordName: "t", zoneID: zoneID)))
    let task = try #require(CKRecord(data: saved.encodedSystemFields))
    task["title"] = "Tea"
    task.parent = nil
    let share = CKShare(rootRecord: task)

    let result = try await database.modifyRecords(saving: [task, share], deleting: [], savePolicy: .allKeys)

    let read = try await database.record(for: task.recordID)
    #expect(try result.saveResults[task.recordID]?.get() != nil)
    #expect(try result.saveResults[share.recordID]?.get() is CKShare)
    #expect(read["title"] as? String == "Tea")
    let deleted = try await database.deleteRecord(withID: share.recordID)
    #expect(deleted == share.recordID)
  }

  @Test func `a record leaves its parent`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    try await database.save(.init(zoneID: zoneID))
    let project = CKRecord(recordType: "Project", recordID: .init(recordName: "p", zoneID: zoneID))
    let task = CKRecord(recordType: "Task", recordID: .init(recordName: "t", zoneID: zoneID))
    task.parent = .init(recordID: project.recordID, action: .none)
    _ = try await database.modifyRecords(saving: [project, task], deleting: [], savePolicy: .allKeys)

    task.parent = nil
    _ = try await database.modifyRecords(saving: [task], deleting: [], savePolicy: .allKeys)

    let read = try await database.record(for: task.recordID)
    #expect(task.parent == nil && read.parent == nil)
  }

  @Test func `system fields and tokens survive as archives`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let saved = try await database.save(CKRecord(recordType: "Task", recordID: .init(recordName: "t")))

    let copy = try #require(CKRecord(data: saved.encodedSystemFields))
    let token = try await database.databaseChanges(since: nil).changeToken
    let text = try #require(token.asString())
    let read = try NSKeyedUnarchiver.unarchivedObject(
      ofClass: CKServerChangeToken.self,
      from: try #require(Data(base64Encoded: text))
    )
    copy["title"] = "Tea"
    let next = try await database.save(copy)

    #expect(copy.recordID == saved.recordID)
    #expect(next.recordChangeTag != saved.recordChangeTag)
    #expect(read == token)
    #expect(CKRecord(data: Data("damaged".utf8)) == nil)
  }

  @Test func `an observable object tells of its published properties with CloudKit alone imported`() throws {
    let engine = Engine(container: try emulatedContainer(), suiteName: UUID().uuidString)
    var statuses: [CKAccountStatus] = []
    var changes = 0
    let subscription = engine.$accountStatus.sink { statuses.append($0) }
    let objectSubscription = engine.objectWillChange.sink { changes += 1 }

    engine.intercept(CKError(.notAuthenticated))
    engine.state = .idle
    subscription.cancel()
    engine.intercept(CKError(.accountTemporarilyUnavailable))

    #expect(statuses == [.available, .noAccount])
    #expect(engine.accountStatus == .temporarilyUnavailable)
    #expect(changes == 3)
    objectSubscription.cancel()
  }

  @Test func `subscriptions of the three kinds are made as usual`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    _ = try await database.save(CKRecordZone(zoneID: zoneID))
    _ = try await database.save(CKRecord(recordType: "Note"))
    let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "zone")
    let query = CKQuerySubscription(
      recordType: "Note",
      predicate: NSPredicate(value: true),
      subscriptionID: "query",
      options: .firesOnRecordCreation
    )

    try await database.save(silentSubscription(for: .private))
    try await database.save(zone)
    try await database.save(query)
    let all = try await database.allSubscriptions()

    #expect(Set(all.map { $0.subscriptionID }) == ["Example-private", "zone", "query"])
  }

  @Test func `shares of a record and of a zone are made, named and archived`() throws {
    let root = CKRecord(recordType: "Project", recordID: CKRecord.ID(recordName: "p", zoneID: zoneID))
    let record = CKShare(rootRecord: root)
    let zone = CKShare(recordZoneID: zoneID)
    record[CKShare.SystemFieldKey.title] = "Shared"

    let archived = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: archived) as? CKShare
    let accept: (CKShare.Metadata) async throws -> Void = { [container = try emulatedContainer()] metadata in
      try await container.accept(metadata)
    }

    #expect(root.share?.recordID == record.recordID)
    #expect(zone.recordID.recordName == CKRecordNameZoneWideShare && zone.recordID.zoneID == zoneID)
    #expect(copy?.recordID == record.recordID)
    #expect(copy?[CKShare.SystemFieldKey.title] as? String == "Shared")
    _ = accept
  }

  @Test func `older constants and the options of a sharing interface are there`() throws {
    #expect(CKRecordTypeUserRecord == "Users" && CKQueryOperationMaximumResults == 0)
    #expect(CKRecordParentKey == "parent" && CKRecordShareKey == "share")
    let options = CKAllowedSharingOptions(
      allowedParticipantPermissionOptions: .readOnly,
      allowedParticipantAccessOptions: .specifiedRecipientsOnly
    )
    options.allowsParticipantsToInviteOthers = true
    let archived = try NSKeyedArchiver.archivedData(withRootObject: options, requiringSecureCoding: true)
    let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKAllowedSharingOptions.self, from: archived)
    #expect(copy?.allowedParticipantPermissionOptions == .readOnly)
    #expect(copy?.allowedParticipantAccessOptions == .specifiedRecipientsOnly)
    #expect(copy?.allowsParticipantsToInviteOthers == true && copy?.allowsAccessRequests == false)
    #expect(CKAllowedSharingOptions.standard.allowedParticipantAccessOptions == .any)
  }

  @Test func `a group's folder is made once and is the same again`() throws {
    let group = "group.org.example.\(UUID().uuidString)"
    let folder = try #require(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group))
    defer { try? FileManager.default.removeItem(at: folder) }

    #expect(FileManager.default.fileExists(atPath: folder.path))
    #expect(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group) == folder)
    #expect(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "../up") == nil)
  }
}
