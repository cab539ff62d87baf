import CloudKit
import Foundation
import Testing

/// Code as it is written for Apple's framework. That it compiles is most of the test.
@Suite(.serialized) struct AppleCodeTests {
  private func requireSendable<Value: Sendable>(_ type: Value.Type) {}

  @Test func `the types that Apple's are sendable are sendable`() {
    requireSendable(CKRecord.self)
    requireSendable(CKRecord.ID.self)
    requireSendable(CKRecord.Reference.self)
    requireSendable(CKRecordZone.self)
    requireSendable(CKRecordZone.ID.self)
    requireSendable(CKAsset.self)
    requireSendable(CKServerChangeToken.self)
    requireSendable(CKContainer.self)
    requireSendable(CKDatabase.self)
    requireSendable(CKQuery.self)
    requireSendable(CKQueryOperation.Cursor.self)
    requireSendable(CKError.self)
    requireSendable(CLLocation.self)
  }

  @Test func `optionals, literals and nil are assigned as usual`() {
    let record = CKRecord(recordType: "Person", recordID: CKRecord.ID(recordName: "p"))
    let nickname: String? = nil
    let age: Int? = 30
    let tags: [String]? = ["a"]

    record["name"] = "Ana"
    record["name"] = "Ana" as (any CKRecordValue)
    record["age"] = age
    record["nickname"] = nickname
    record["tags"] = tags
    record["photo"] = nil
    record["born"] = Date(timeIntervalSince1970: 0) as NSDate
    record.setValue(age, forKey: "copy")

    if let name = record["name"] as? String, let age = record["age"] as? Int {
      #expect(name == "Ana" && age == 30)
    } else {
      Issue.record("expected both values")
    }
    #expect(record.allKeys() == ["age", "born", "copy", "name", "tags"])
    #expect(record.changedKeys().contains("nickname"))
  }

  @Test func `a model with a switch over the error's code reads as usual`() async {
    func explain(_ error: any Error) -> String {
      guard let error = error as? CKError else { return "other" }
      switch error.code {
      case .networkFailure, .networkUnavailable, .serviceUnavailable, .requestRateLimited, .zoneBusy:
        return "retry after \(error.retryAfterSeconds ?? 1)"
      case .serverRecordChanged: return error.serverRecord == nil ? "conflict" : "merge"
      case .partialFailure: return "\(error.partialErrorsByItemID?.count ?? 0) failed"
      default: return error.localizedDescription
      }
    }

    #expect(explain(CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 2.0])) == "retry after 2.0")
    #expect(explain(CKError(.serverRecordChanged)) == "conflict")
  }

  @Test func `queries, zones and batches are called as usual`() async throws {
    let server = ScriptedServer(
      .json(#"{"records":[{"recordName":"n","recordType":"Note","fields":{}}]}"#),
      .json(#"{"records":[{"recordName":"n","recordType":"Note","recordChangeTag":"1","fields":{}}]}"#)
    )
    let database = server.container().database(with: .private)
    let zoneID = CKRecordZone.ID(zoneName: "notes", ownerName: CKCurrentUserDefaultName)
    let query = CKQuery(
      recordType: "Note",
      predicate: NSCompoundPredicate(
        type: .and,
        subpredicates: [NSPredicate(format: "%K == %@", "title", "Milk"), NSPredicate(value: true)]
      )
    )
    query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]

    let (matchResults, cursor) = try await database.records(matching: query, inZoneWith: zoneID)
    let notes = try matchResults.map { _, result in try result.get() }
    let (saveResults, deleteResults) = try await database.modifyRecords(saving: notes, deleting: [])

    #expect(cursor == nil)
    #expect(saveResults.count == 1 && deleteResults.isEmpty)
    #expect(CKRecordZone.default().zoneID == .default)
  }
}
