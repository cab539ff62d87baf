import CloudKit
import CloudKitEmulator
import Testing

// Code in the style of test doubles: subclasses that stand values in which only the server gives, and operations that do
// more than Apple's. Those of `@unchecked Sendable` classes have to restate it; what they add is immutable.

/// A record that looks as if it came from the server.
private class StandInRecord: CKRecord, @unchecked Sendable {
  private let user: CKRecord.ID

  init(recordType: CKRecord.RecordType, name: String, user: String) {
    self.user = CKRecord.ID(recordName: user)
    super.init(recordType: recordType, recordID: CKRecord.ID(recordName: name))
  }

  required init?(coder: NSCoder) {
    user = CKRecord.ID(recordName: "nobody")
    super.init(coder: coder)
  }

  override var creatorUserRecordID: CKRecord.ID? { user }
  override var creationDate: Date? { Date(timeIntervalSince1970: 1) }
  override var modificationDate: Date? { Date(timeIntervalSince1970: 2) }
  override var recordChangeTag: String? { "tag" }
}

private class StandInShare: CKShare, @unchecked Sendable {
  override var url: URL? { URL(string: "https://www.icloud.com/share/0") }
  override var currentUserParticipant: CKShare.Participant? { owner }
}

private class StandInToken: CKServerChangeToken, @unchecked Sendable {
  let name: String

  init?(name: String, in coder: NSCoder) {
    self.name = name
    super.init(coder: coder)
  }

  required init?(coder: NSCoder) {
    name = ""
    super.init(coder: coder)
  }
}

private class NamedSubscription: CKDatabaseSubscription, @unchecked Sendable {
  override var notificationInfo: CKSubscription.NotificationInfo? {
    get {
      let info = CKSubscription.NotificationInfo()
      info.shouldSendContentAvailable = true
      return info
    }
    set {}
  }
}

private final class CountingOperation: CKModifyRecordsOperation, @unchecked Sendable {
  nonisolated(unsafe) var starts = 0

  override func start() {
    starts += 1
    super.start()
  }
}

@Suite(.serialized) struct SubclassTests {
  @Test func `a subclass of a record stands its own system values in`() {
    let record: CKRecord = StandInRecord(recordType: "Note", name: "n", user: "ana")
    record["title"] = "Milk"

    #expect(record.recordID.recordName == "n")
    #expect(record.creatorUserRecordID?.recordName == "ana")
    #expect(record.creationDate! < record.modificationDate!)
    #expect(record.recordChangeTag == "tag")
    #expect(record["title"] == "Milk")
  }

  @Test func `a subclass of a share has a URL, and inherits the ways to make one`() {
    let share: CKShare = StandInShare(rootRecord: CKRecord(recordType: "List"))

    #expect(share.url?.lastPathComponent == "0")
    #expect(share.currentUserParticipant?.role == .owner)
  }

  @Test func `a token of a subclass needs an archive that holds one`() {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.finishEncoding()
    let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)

    #expect(unarchiver.map { StandInToken(name: "t", in: $0) == nil } == true)
  }

  @Test func `a subclass of a record is saved like one`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let record = StandInRecord(recordType: "Note", name: "n", user: "ana")
    record["title"] = "Milk"

    _ = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
    let saved = try await database.record(for: record.recordID)

    #expect(saved["title"] == "Milk")
    #expect(saved.recordChangeTag != "tag")
  }

  @Test func `a subscription and an operation of a subclass do what theirs do`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    try await database.save(NamedSubscription(subscriptionID: "all"))
    let operation = CountingOperation(recordsToSave: [CKRecord(recordType: "Note")])

    try await withCheckedThrowingContinuation { continuation in
      operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
      database.add(operation)
    }

    let subscription = try await database.subscription(for: "all")
    #expect(subscription.notificationInfo?.shouldSendContentAvailable == true)
    #expect(operation.starts == 1)
  }
}
