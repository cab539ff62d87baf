import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Testing

// Shapes of older and newer code for Apple's systems: mocks by subclassing, key paths, transitional names, deprecated
// operations, and requests for access to shares.

private final class LoggingContainer: CKContainer, @unchecked Sendable {
  private(set) static var added: [String] = []

  override var privateCloudDatabase: CKDatabase { publicCloudDatabase }

  override func add(_ operation: CKOperation) {
    Self.added.append(operation.operationID)
    super.add(operation)
  }
}

/// What an app needs of a container, so that its tests can put a double in its place.
private protocol NamedContainer {
  init(identifier: String)
  var containerIdentifier: String? { get }
}

extension CKContainer: NamedContainer {}

private final class OfflineContainer: CKContainer, @unchecked Sendable {
  let reason: String

  init(reason: String) {
    self.reason = reason
    super.init(identifier: "iCloud.org.example.offline")
  }

  required init(identifier: String) {
    reason = "unknown"
    super.init(identifier: identifier)
  }
}

private final class EverythingQuery: CKQuery, @unchecked Sendable {
  override var recordType: CKRecord.RecordType { "Everything" }
}

private final class OwnersMetadata: CKShare.Metadata, @unchecked Sendable {
  override var participantRole: CKShare.ParticipantRole { .owner }
}

private final class ArchivedShare: CKShare, @unchecked Sendable {
  private(set) var isArchived = false

  required init(coder: NSCoder) {
    isArchived = true
    super.init(coder: coder)
  }
}

private final class PatientOperation: CKFetchRecordsOperation, @unchecked Sendable {
  override var configuration: CKOperation.Configuration! {
    get {
      let configuration = super.configuration
      configuration?.timeoutIntervalForRequest = 600
      return configuration
    }
    set { super.configuration = newValue }
  }
}

private class PermissionRequest {
  let permissions: CKContainer_Application_Permissions
  let done: CKContainer_Application_PermissionBlock

  init(_ permissions: CKContainer.Application.Permissions, done: @escaping CKContainer.Application.PermissionBlock) {
    self.permissions = permissions
    self.done = done
  }

  func start(in container: CKContainer) {
    container.requestApplicationPermission(permissions, completionHandler: done)
  }
}

/// A server with one reply.
private struct OneReply: CKTransport {
  let json: String

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    CKTransportResponse(status: 200, body: Data(json.utf8))
  }

  func transport(to origin: URL, timeout: Duration) -> any CKTransport { self }
}

private func archive(_ encode: (NSCoder) -> Void) throws -> NSKeyedUnarchiver {
  let archiver = NSKeyedArchiver(requiringSecureCoding: true)
  encode(archiver)
  archiver.finishEncoding()
  let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
  unarchiver.requiresSecureCoding = true
  return unarchiver
}

@Suite(.serialized) struct PublishedShapesTests {
  @Test func `containers, queries, metadata, shares and operations can be subclassed`() async throws {
    let container = LoggingContainer(
      configuration: CKContainerConfiguration(
        identifier: "iCloud.org.example.app",
        credential: .webAuth(apiToken: "any", webAuthToken: "ana"),
        transport: EmulatorTransport(try Emulator(), now: { Date() })
      )
    )
    #expect(container.privateCloudDatabase.databaseScope == .public)
    let operation = PatientOperation(recordIDs: [])
    #expect(operation.configuration.timeoutIntervalForRequest == 600)
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      operation.fetchRecordsResultBlock = { continuation.resume(with: $0) }
      container.add(operation)
    }
    #expect(LoggingContainer.added == [operation.operationID])
    #expect(EverythingQuery(recordType: "Note", predicate: NSPredicate(value: true)).recordType == "Everything")
  }

  @Test func `a protocol can require a container's initializer, and a subclass can call it`() {
    func container<Container: NamedContainer>(_ type: Container.Type) -> Container {
      Container(identifier: "iCloud.org.example.app")
    }

    #expect(container(CKContainer.self).containerIdentifier == "iCloud.org.example.app")
    #expect(container(LoggingContainer.self).containerIdentifier == "iCloud.org.example.app")
    #expect(container(OfflineContainer.self).reason == "unknown")
    #expect(OfflineContainer(reason: "test").containerIdentifier == "iCloud.org.example.offline")
  }

  @Test func `arrays and dictionaries of identifiers are read from archives, and no other objects`() throws {
    let ids = ["a", "b"].map { CKRecord.ID(recordName: $0) }
    func archive(_ object: NSObject) throws -> Data {
      try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    }
    let array = try archive(NSArray(array: ids))
    let dictionary = try archive(NSDictionary(object: ids[0], forKey: NSString(string: "first")))

    #expect(try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: array) == ids)
    let any = try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClasses: [CKRecord.ID.self], from: array)
    #expect(any as? [CKRecord.ID] == ids)
    let named = try NSKeyedUnarchiver.unarchivedDictionary(
      ofKeyClass: NSString.self,
      objectClass: CKRecord.ID.self,
      from: dictionary
    )
    #expect(named == [NSString(string: "first"): ids[0]])
    let anyNamed = try NSKeyedUnarchiver.unarchivedDictionary(
      keysOfClasses: [NSString.self],
      objectsOfClasses: [CKRecord.ID.self],
      from: dictionary
    )
    #expect(anyNamed?["first"] as? CKRecord.ID == ids[0])
    let texts = try NSKeyedUnarchiver.unarchivedArrayOfObjects(
      ofClass: NSString.self,
      from: archive(NSArray(array: [NSString(string: "a")]))
    )
    #expect(texts == [NSString(string: "a")])
    #expect(throws: CocoaError.self) {
      try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecordZone.ID.self, from: array)
    }
    #expect(throws: CocoaError.self) {
      try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: dictionary)
    }
    #expect(throws: CocoaError.self) {
      try NSKeyedUnarchiver.unarchivedDictionary(
        keysOfClasses: [CKRecord.ID.self],
        objectsOfClasses: [CKRecord.ID.self],
        from: dictionary
      )
    }
    #expect(throws: (any Error).self) {
      try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: CKRecord.ID.self, from: Data("no archive".utf8))
    }
  }

  @Test func `metadata of a subclass has the values that it overrides`() async throws {
    let container = try emulatedContainer()
    let zone = try await container.privateCloudDatabase.save(CKRecordZone(zoneName: "Lists"))
    let root = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "l", zoneID: zone.zoneID))
    let share = CKShare(rootRecord: root)
    share.publicPermission = .readOnly
    _ = try await container.privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
    let metadata = try await container.shareMetadata(for: try #require(share.url))

    let archived = try #require(OwnersMetadata(coder: try archive(metadata.encode(with:))))

    #expect(archived.participantRole == .owner)
    #expect(archived.share.recordID == share.recordID)
  }

  @Test func `a share is made from an archive without a check for nil`() async throws {
    let share = CKShare(rootRecord: CKRecord(recordType: "List"))
    let copy = ArchivedShare(coder: try archive(share.encode(with:)))
    #expect(copy.isArchived && copy.recordID == share.recordID)

    let damaged = try archive { $0.encode("nothing" as NSString, forKey: "Other") }
    let unknown = CKShare(coder: damaged)
    #expect(unknown.url == nil)
    let database = try emulatedContainer().privateCloudDatabase
    await #expect(throws: CKError.self) { try await database.save(unknown) }
  }

  @Test func `a value at a key path is read and set`() {
    let record = CKRecord(recordType: "Order")
    record.setValue("Milk", forKeyPath: "title")
    record["customer"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "c"), action: .none)
    record["sizes"] = [1, 2]

    #expect(record.value(forKeyPath: "title") as? String == "Milk")
    #expect(record.value(forKeyPath: "customer.recordID.recordName") as? String == "c")
    #expect(record.value(forKeyPath: "customer.recordID.zoneID.zoneName") as? String == CKRecordZone.ID.defaultZoneName)
    #expect(record.value(forKeyPath: "sizes.@count") as? Int == 2)
    #expect(record.value(forKeyPath: "customer.name") == nil)
    record.setValue(nil, forKeyPath: "title")
    #expect(record["title"] == nil)
  }

  @Test func `transitional names mean what the present ones mean`() async throws {
    let status = try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<CKContainer_Application_PermissionStatus, any Error>) in
      let request = PermissionRequest(.userDiscoverability) { status, error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: status) }
      }
      do { request.start(in: try emulatedContainer()) } catch { continuation.resume(throwing: error) }
    }
    #expect(status == CKContainer.ApplicationPermissionStatus.granted)
    let value: any __CKRecordObjCValue = NSString(string: "Milk")
    let record = CKRecord(recordType: "Note")
    record["title"] = value
    #expect(record["title"] as? __CKRecordObjCValue as? NSString == "Milk")
    #expect(CKRecord_Reference_Action.deleteSelf == CKRecord.ReferenceAction.deleteSelf)
    #expect(CKShare_Participant_Permission.readOnly == CKShare.ParticipantPermission.readOnly)
  }

  @Test func `the deprecated operation for the changes of a zone fetches them`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
    let ids = ["a", "b"].map { CKRecord.ID(recordName: $0, zoneID: zone.zoneID) }
    _ = try await database.modifyRecords(saving: ids.map { CKRecord(recordType: "Note", recordID: $0) }, deleting: [])
    func fetch(since token: CKServerChangeToken?) async throws -> ([String], [String], CKServerChangeToken?) {
      let operation = CKFetchRecordChangesOperation(recordZoneID: zone.zoneID, previousServerChangeToken: token)
      var (changed, deleted): ([String], [String]) = ([], [])
      operation.recordChangedBlock = { changed.append($0.recordID.recordName) }
      operation.recordWithIDWasDeletedBlock = { deleted.append($0.recordName) }
      let next = try await withCheckedThrowingContinuation {
        (continuation: CheckedContinuation<CKServerChangeToken?, any Error>) in
        operation.fetchRecordChangesCompletionBlock = { token, _, error in
          if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: token) }
        }
        database.add(operation)
      }
      return (changed, deleted, operation.moreComing ? nil : next)
    }

    let (changed, _, token) = try await fetch(since: nil)
    #expect(changed == ["a", "b"])
    try await database.deleteRecord(withID: ids[0])
    #expect(try await fetch(since: token).1 == ["a"])
  }

  @Test func `a record that cannot be read keeps the deprecated operation from giving a token`() async throws {
    let transport = OneReply(
      json: #"""
        {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"t","moreComing":false,"records":[
        {"recordName":"a","serverErrorCode":"INTERNAL_ERROR","reason":"later"}]}]}
        """#
    )
    let credential = CKCredential.webAuth(apiToken: "any", webAuthToken: "ana")
    let container = CKContainer(identifier: "iCloud.org.example.app", credential: credential, transport: transport)
    let zoneID = CKRecordZone.ID(zoneName: "Notes")
    let operation = CKFetchRecordChangesOperation(recordZoneID: zoneID, previousServerChangeToken: nil)
    let (token, error) = await withCheckedContinuation { continuation in
      operation.fetchRecordChangesCompletionBlock = { token, _, error in continuation.resume(returning: (token, error))
      }
      container.privateCloudDatabase.add(operation)
    }
    #expect(token == nil && error != nil)
  }

  @Test func `what Web Services have no call for fails with one code`() async throws {
    let container = try emulatedContainer()
    func code(_ start: (@escaping ((any Error)?) -> Void) -> Void) async -> CKError.Code? {
      await withCheckedContinuation { continuation in start { continuation.resume(returning: ($0 as? CKError)?.code) } }
    }
    #expect(
      await code { done in
        let operation = CKModifyBadgeOperation(badgeValue: 3)
        operation.modifyBadgeCompletionBlock = done
        container.add(operation)
      } == .invalidArguments
    )
    #expect(
      await code { done in
        let operation = CKMarkNotificationsReadOperation(notificationIDsToMarkRead: [])
        operation.markNotificationsReadCompletionBlock = { done($1) }
        container.add(operation)
      } == .invalidArguments
    )
    #expect(
      await code { done in
        let operation = CKFetchNotificationChangesOperation(previousServerChangeToken: nil)
        operation.fetchNotificationChangesCompletionBlock = { done($1) }
        container.add(operation)
      } == .invalidArguments
    )
    let url = try #require(URL(string: "https://www.icloud.com/share/0AbC"))
    #expect(
      await code { done in
        let operation = CKShareRequestAccessOperation(shareURLs: [url])
        operation.perShareAccessRequestResultBlock = { _, result in
          if case .failure(let error) = result { done(error) }
        }
        container.add(operation)
      } == .invalidArguments
    )
  }

  @Test func `a share with requests for access or a URL for one person is refused before it is sent`() async throws {
    let container = try emulatedContainer()
    let zone = try await container.privateCloudDatabase.save(CKRecordZone(zoneName: "Lists"))
    let open = CKShare(recordZoneID: zone.zoneID)
    open.allowsAccessRequests = true
    let personal = CKShare(recordZoneID: zone.zoneID)
    personal.addParticipant(.oneTimeURLParticipant())

    for share in [open, personal] {
      await #expect(throws: CKError.self) { try await container.privateCloudDatabase.save(share) }
    }
    #expect(open.requesters.isEmpty && open.blockedIdentities.isEmpty)
    open.denyRequesters(open.requesters)
    #expect(personal.participants.allSatisfy { !$0.isApprovedRequester && $0.dateAddedToShare == nil })
    #expect(personal.oneTimeURL(for: personal.participants[1].participantID) == nil)
    open.allowsAccessRequests = false
    try await container.privateCloudDatabase.save(open)
    #expect(open.url != nil)
  }
}
