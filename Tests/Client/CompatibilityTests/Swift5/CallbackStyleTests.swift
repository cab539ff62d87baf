import CloudKit
import Testing

// Code in the style of apps from before `async`: handlers with a value and an error, operations with blocks, extensions
// of CloudKit's classes. It imports CloudKit alone.

extension CKRecord {
  open var asDictionary: [String: Any] {
    var result: [String: Any] = [:]
    result["recordName"] = self.recordID.recordName
    result["createdBy"] = self.creatorUserRecordID?.recordName
    result["createdAt"] = self.creationDate
    result["modifiedBy"] = self.lastModifiedUserRecordID?.recordName
    result["modifiedAt"] = self.modificationDate
    result["changeTag"] = self.recordChangeTag
    for key in self.allKeys() {
      if let value = self.value(forKey: key) as? Date {
        result[key] = value.timeIntervalSinceReferenceDate
      } else if let value = self.value(forKey: key) as? [Date] {
        result[key] = value.map { $0.timeIntervalSinceReferenceDate }
      } else if let value = self.value(forKey: key) as? CKRecord.Reference {
        result[key] = value.recordID.recordName
      } else if let value = self.value(forKey: key) as? [CKRecord.Reference] {
        result[key] = value.map { $0.recordID.recordName }
      } else if let value = self.value(forKey: key) as? CKAsset {
        result[key] = value.data
      } else {
        result[key] = self.value(forKey: key)
      }
    }
    return result
  }

  var asReference: CKRecord.Reference { CKRecord.Reference(recordID: self.recordID, action: .none) }
}

extension CKAsset {
  convenience init(data: Data) {
    let url = URL(fileURLWithPath: NSTemporaryDirectory().appending(UUID().uuidString + ".data"))
    try? data.write(to: url)
    self.init(fileURL: url)
  }

  var data: Data? { fileURL.flatMap { try? Data(contentsOf: $0) } }
}

extension NSPointerArray {
  func addObject(_ object: AnyObject?) {
    guard let object else { return }
    addPointer(Unmanaged.passUnretained(object).toOpaque())
  }

  func object(at index: Int) -> AnyObject? {
    guard index < count, let pointer = self.pointer(at: index) else { return nil }
    return Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()
  }
}

/// Keeps what a program works with, as libraries of that time do.
class Defaults {
  private let container: CKContainer
  lazy var database: CKDatabase = { container.publicCloudDatabase }()

  var containerIdentifier: String { container.containerIdentifier ?? "none" }

  init(_ container: CKContainer) { self.container = container }
}

@Suite(.serialized) struct CallbackStyleTests {
  /// Waits for a handler in the old form.
  private func value<Value>(
    _ call: (@escaping (Value?, Error?) -> Void) -> Void
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      call { value, error in
        if let error = error {
          continuation.resume(throwing: error)
        } else if let value = value {
          continuation.resume(returning: value)
        }
      }
    }
  }

  @Test func `records are saved, read, found and deleted`() async throws {
    let defaults = Defaults(try emulatedContainer())
    let database = defaults.database
    let record = CKRecord(recordType: "Person", recordID: CKRecord.ID(recordName: "ana"))
    record.setValue("Ana", forKey: "name")
    record.setValue(30, forKey: "age")
    record.setValue([CKRecord(recordType: "Person").asReference], forKey: "friends")

    let saved: CKRecord = try await value { database.save(record, completionHandler: $0) }
    let read: CKRecord = try await value {
      database.fetch(withRecordID: CKRecord.ID(recordName: "ana"), completionHandler: $0)
    }
    let query = CKQuery(recordType: "Person", predicate: NSPredicate(value: true))
    query.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let found: [CKRecord] = try await value { database.perform(query, inZoneWith: nil, completionHandler: $0) }
    let deleted: CKRecord.ID = try await value {
      database.delete(withRecordID: CKRecord.ID(recordName: "ana"), completionHandler: $0)
    }

    #expect(defaults.containerIdentifier == "iCloud.org.example.app")
    #expect(saved.recordChangeTag != nil)
    #expect(read.asDictionary["name"] as? String == "Ana")
    #expect(read.asDictionary["age"] as? Int == 30)
    #expect((read.asDictionary["friends"] as? [String])?.count == 1)
    #expect(read.asDictionary["createdBy"] is String)
    #expect(found.map { $0.recordID.recordName } == ["ana"])
    #expect(deleted.recordName == "ana")
  }

  @Test func `a query operation with blocks goes from page to page`() async throws {
    let database = try emulatedContainer().publicCloudDatabase
    let records = (1...3).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n\($0)")) }
    _ = try await database.modifyRecords(saving: records, deleting: [])

    func page(_ operation: CKQueryOperation) async throws -> (names: [String], cursor: CKQueryOperation.Cursor?) {
      try await withCheckedThrowingContinuation { continuation in
        var names: [String] = []
        operation.resultsLimit = 2
        operation.recordFetchedBlock = { record in names.append(record.recordID.recordName) }
        operation.queryCompletionBlock = { cursor, error in
          if let error = error {
            continuation.resume(throwing: error)
          } else {
            continuation.resume(returning: (names, cursor))
          }
        }
        database.add(operation)
      }
    }
    let first = try await page(
      CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
    )
    let second = try await page(CKQueryOperation(cursor: try #require(first.cursor)))

    #expect(CKQueryOperation.maximumResults == 0)
    #expect(first.names.count == 2)
    #expect(Set(first.names + second.names) == ["n1", "n2", "n3"])
  }

  @Test func `subscriptions are saved, listed and deleted`() async throws {
    let database = try emulatedContainer().publicCloudDatabase
    let options: CKQuerySubscription.Options = [
      .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
    ]
    let info = CKSubscription.NotificationInfo()
    info.alertBody = "News"
    info.category = "Note"
    info.shouldSendContentAvailable = true
    info.shouldSendMutableContent = true
    let subscription = CKQuerySubscription(
      recordType: "Note",
      predicate: NSPredicate(value: true),
      options: options
    )
    subscription.notificationInfo = info
    _ = try await database.save(CKRecord(recordType: "Note"))

    let saved: CKSubscription = try await value { database.save(subscription, completionHandler: $0) }
    let all: [CKSubscription] = try await value { database.fetchAllSubscriptions(completionHandler: $0) }
    let existing = all.first { candidate in
      guard let query = candidate as? CKQuerySubscription else { return false }
      return query.recordType == "Note" && query.predicate.predicateFormat == subscription.predicate.predicateFormat
    }
    let id: CKSubscription.ID = saved.subscriptionID
    let deleted: String = try await value { database.delete(withSubscriptionID: id, completionHandler: $0) }

    #expect(existing?.subscriptionID == subscription.subscriptionID)
    #expect(deleted == subscription.subscriptionID)
  }

  @Test func `an asset made of bytes comes back with them`() throws {
    let record = CKRecord(recordType: "Photo")
    record["file"] = CKAsset(data: Data([1, 2, 3]))

    #expect(record.asDictionary["file"] as? Data == Data([1, 2, 3]))
  }

  @Test func `a pointer array keeps strong objects and forgets weak ones`() {
    let strong = NSPointerArray.strongObjects()
    let weak = NSPointerArray.weakObjects()
    autoreleasepool {
      let object = NSObject()
      strong.addObject(object)
      weak.addObject(object)
      weak.addObject(NSObject())
      weak.compact()
    }

    #expect(strong.count == 1 && strong.object(at: 0) != nil)
    #expect(weak.count == 1 && weak.object(at: 0) === strong.object(at: 0))
    strong.removePointer(at: 0)
    #expect(weak.object(at: 0) == nil)
    weak.compact()
    #expect(weak.count == 0 && strong.allObjects.isEmpty)
  }
}
