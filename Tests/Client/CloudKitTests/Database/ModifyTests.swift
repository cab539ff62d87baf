import Foundation
import JSONText
import Synchronization
import Testing

@testable import CloudKit

@Suite(.serialized) struct ModifyTests {
  private let zone = CKRecordZone.ID(zoneName: "notes")

  private func fetched(_ name: String, tag: String = "1a", title: String = "old") -> CKRecord {
    let wire = WireRecord(
      recordName: name,
      recordType: "Note",
      recordChangeTag: tag,
      fields: ["title": .string(title), "body": .string("text")]
    )
    return CKRecord(wire: wire, zoneID: zone)
  }

  private func saved(_ name: String, tag: String, title: String) -> String {
    #"{"recordName":"\#(name)","recordType":"Note","recordChangeTag":"\#(tag)","fields":{"title":{"value":"\#(title)","type":"STRING"}}}"#
  }

  private func code(_ result: Result<some Any, any Error>?) -> CKError.Code? {
    if case .failure(let error as CKError) = result { error.code } else { nil }
  }

  @Test func `a new record is created with all its fields and is brought up to date`() async throws {
    let server = ScriptedServer(.json(#"{"records":[\#(saved("n", tag: "1", title: "Milk"))]}"#))
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))
    record["title"] = "Milk"

    let result = try await server.container().privateCloudDatabase.save(record)

    #expect(result === record)
    #expect(record.recordChangeTag == "1")
    #expect(record.changedKeys().isEmpty)
    #expect(server.operations == ["development/private/records/modify"])
    let body = try #require(try server.bodies().first)
    let operation = body["operations"]?.elements.first
    #expect(operation?["operationType"] == .string("create"))
    #expect(operation?["record"]?["fields"]?["title"]?["value"] == .string("Milk"))
    #expect(body["zoneID"]?["zoneName"] == .string("notes"))
    #expect(body["atomic"] == .bool(false))
  }

  @Test func `an update sends its tag, the changed fields and nulls for cleared ones`() async throws {
    let server = ScriptedServer(.json(#"{"records":[\#(saved("n", tag: "2", title: "new"))]}"#))
    let record = fetched("n")
    record["title"] = "new"
    record["body"] = nil

    try await server.container().privateCloudDatabase.save(record)

    let operation = try server.bodies()[0]["operations"]?.elements.first
    #expect(operation?["operationType"] == .string("update"))
    #expect(operation?["record"]?["recordChangeTag"] == .string("1a"))
    #expect(
      operation?["record"]?["fields"]
        == .object([
          "body": .object(["value": .null]), "title": .object(["type": .string("STRING"), "value": .string("new")]),
        ])
    )
    #expect(record.allKeys() == ["title"])
  }

  @Test func `a parent is sent where it changed, as null where it was taken away`() async throws {
    func sentParent(_ change: (CKRecord) -> Void) async throws -> JSON? {
      let server = ScriptedServer(.json(#"{"records":[\#(saved("n", tag: "2", title: "old"))]}"#))
      let record = fetched("n")
      let parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p", zoneID: zone), action: .none)
      record.state.withLock { $0.parent = parent }
      change(record)
      try await server.container().privateCloudDatabase.save(record)
      return try server.bodies()[0]["operations"]?.elements.first?["record"]?["parent"]
    }

    #expect(try await sentParent { $0.parent = $0.parent } == nil)
    #expect(try await sentParent { $0.parent = nil } == .null)
    #expect(
      try await sentParent { $0.setParent(CKRecord.ID(recordName: "q", zoneID: zone)) }
        == .object(["recordName": .string("q")])
    )
  }

  @Test func `a conflict carries the records of both sides and their ancestor`() async throws {
    let server = ScriptedServer(
      .json(#"{"records":[{"recordName":"n","reason":"oplock","serverErrorCode":"CONFLICT"}]}"#),
      .json(#"{"records":[\#(saved("n", tag: "9", title: "theirs"))]}"#)
    )
    let record = fetched("n")
    record["title"] = "mine"

    let error = await #expect(throws: CKError.self) {
      try await server.container().privateCloudDatabase.save(record)
    }

    #expect(error?.code == .serverRecordChanged)
    #expect(error?.serverRecord?["title"] as? String == "theirs")
    #expect(error?.serverRecord?.recordChangeTag == "9")
    #expect(error?.clientRecord?["title"] as? String == "mine")
    #expect(error?.ancestorRecord?["title"] as? String == "old")
    #expect(error?.serverErrorCode == "CONFLICT")
    #expect(record.changedKeys() == ["title"])
  }

  @Test func `a conflict with a record that is gone is an unknown item`() async throws {
    let server = ScriptedServer(
      .json(#"{"records":[{"recordName":"n","reason":"oplock","serverErrorCode":"CONFLICT"}]}"#),
      .json(#"{"records":[{"recordName":"n","reason":"gone","serverErrorCode":"NOT_FOUND"}]}"#)
    )
    let record = fetched("n")
    record["title"] = "mine"

    let error = await #expect(throws: CKError.self) { try await server.container().privateCloudDatabase.save(record) }
    #expect(error?.code == .unknownItem)
  }

  @Test func `nothing is sent after a refusal to take more requests`() async throws {
    let throttled = ScriptedServer.Answer.json(#"{"serverErrorCode":"THROTTLED","reason":"slow"}"#, status: 429)
    let conflict = #"{"recordName":"n","reason":"oplock","serverErrorCode":"CONFLICT"}"#
    let edited = fetched("n")
    edited["title"] = "mine"
    // A deletion waits for the saves.
    let gone = CKRecord.ID(recordName: "gone", zoneID: CKRecordZone.ID(zoneName: "other"))
    let server = ScriptedServer(.json(#"{"records":[\#(conflict)]}"#), throttled)

    let (saves, deletes) = try await server.container().privateCloudDatabase
      .modifyRecords(saving: [edited], deleting: [gone], atomically: false)

    #expect(server.operations.count == 2)
    #expect(code(deletes[gone]) == .requestRateLimited)
    guard case .failure(let error as CKError)? = saves[edited.recordID] else { return #expect(Bool(false)) }
    // The server's record is not fetched now; what is known here is told.
    #expect(error.code == .serverRecordChanged && error.serverRecord == nil)
    #expect(error.clientRecord === edited && error.ancestorRecord?["title"] as? String == "old")
  }

  @Test func `a single throttled record ends the call too`() async throws {
    let record = fetched("n")
    record["title"] = "mine"
    let gone = CKRecord.ID(recordName: "gone", zoneID: CKRecordZone.ID(zoneName: "other"))
    let server = ScriptedServer(.json(#"{"records":[{"recordName":"n","reason":"","serverErrorCode":"THROTTLED"}]}"#))

    let (saves, deletes) = try await server.container().privateCloudDatabase
      .modifyRecords(saving: [record], deleting: [gone], atomically: false)

    #expect(server.operations.count == 1)
    #expect(code(saves[record.recordID]) == .requestRateLimited && code(deletes[gone]) == .requestRateLimited)
  }

  @Test func `an internal error leaves a write in doubt`() async throws {
    let refusal = #"{"serverErrorCode":"INTERNAL_ERROR","reason":"oops"}"#
    let item = #"{"records":[{"recordName":"n","serverErrorCode":"INTERNAL_ERROR","reason":"oops"}]}"#
    for answer in [ScriptedServer.Answer.json(refusal, status: 500), .json(item)] {
      let record = fetched("n")
      record["title"] = "mine"
      let database = ScriptedServer(answer).container().privateCloudDatabase

      #expect(await errorCode { try await database.save(record) } == .serverResponseLost)
      #expect(record.changedKeys() == ["title"])
    }
  }

  @Test func `an empty list is left out of a new record, and clears a field that the server has`() async throws {
    func sent(_ record: CKRecord, _ policy: CKModifyRecordsOperation.RecordSavePolicy) async throws -> JSON? {
      let server = ScriptedServer(
        .json(#"{"records":[{"recordName":"n","recordType":"Note","recordChangeTag":"9","fields":{}}]}"#)
      )
      _ = try await server.container().privateCloudDatabase
        .modifyRecords(saving: [record], deleting: [], savePolicy: policy).saveResults[record.recordID]?.get()
      #expect(record["tags"] == nil && record.changedKeys().isEmpty)
      return try server.bodies()[0]["operations"]?.elements.first?["record"]?["fields"]
    }
    func new() -> CKRecord {
      let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))
      record["tags"] = [String]()
      record["n"] = 1
      return record
    }
    func known(_ fields: [String: FieldValue]) -> CKRecord {
      let wire = WireRecord(recordName: "n", recordType: "Note", recordChangeTag: "1", fields: fields)
      let record = CKRecord(wire: wire, zoneID: zone)
      record["tags"] = [String]()
      return record
    }
    let one = JSON.object(["type": .string("INT64"), "value": .int(1)])
    let cleared = JSON.object(["value": .null])

    #expect(try await sent(new(), .ifServerRecordUnchanged) == .object(["n": one]))
    // A record that is not known to be new may be on the server, with a list.
    #expect(try await sent(new(), .changedKeys) == .object(["n": one, "tags": cleared]))
    for policy in [CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys] {
      let full = known(["tags": .list(.string, [.string("a")])])
      #expect(try await sent(full, policy) == .object(["tags": .object(["value": .array([])])]))
      #expect(try await sent(known([:]), policy) == .object(["tags": cleared]))
    }
  }

  @Test func `items fail one by one and the others take effect`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"records":[{"recordName":"gone","deleted":true},
        {"recordName":"b","reason":"no","serverErrorCode":"ACCESS_DENIED"},\#(saved("a", tag: "2", title: "x"))]}
        """#
      )
    )
    let (a, b) = (fetched("a"), fetched("b"))
    let gone = CKRecord.ID(recordName: "gone", zoneID: zone)

    let (saves, deletes) = try await server.container().privateCloudDatabase.modifyRecords(
      saving: [a, b],
      deleting: [gone],
      savePolicy: .changedKeys,
      atomically: false
    )

    #expect(try saves[a.recordID]?.get() === a)
    #expect(code(saves[b.recordID]) == .permissionFailure)
    #expect(throws: Never.self) { try deletes[gone]?.get() }
    let kinds = try server.bodies()[0]["operations"]?.elements.map { $0["operationType"] }
    #expect(kinds == [.string("forceUpdate"), .string("forceUpdate"), .string("forceDelete")])
  }

  @Test func `a broken atomic group names its culprit`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"records":[{"recordName":"a","reason":"Atomic failure","serverErrorCode":"ATOMIC_ERROR"},
        {"recordName":"b","reason":"bad","serverErrorCode":"BAD_REQUEST"}]}
        """#
      )
    )
    let (a, b) = (fetched("a"), fetched("b"))

    let saves = try await server.container().privateCloudDatabase.modifyRecords(saving: [a, b], deleting: [])
      .saveResults

    #expect(code(saves[a.recordID]) == .batchRequestFailed)
    #expect(code(saves[b.recordID]) == .invalidArguments)
    #expect(try server.bodies()[0]["atomic"] == .bool(true))
  }

  @Test func `201 changes are two requests, and an atomic group of them is none`() async throws {
    let ids = (0..<201).map { CKRecord.ID(recordName: "r\($0)", zoneID: zone) }
    let deleted = ids.map { "{\"recordName\":\"\($0.recordName)\",\"deleted\":true}" }.joined(separator: ",")
    // The requests are sent together, so either may arrive first.
    let server = ScriptedServer(repeating: .json("{\"records\":[\(deleted)]}"))
    let database = server.container().privateCloudDatabase

    let error = await #expect(throws: CKError.self) { try await database.modifyRecords(saving: [], deleting: ids) }
    #expect(error?.code == .limitExceeded)
    #expect(server.operations.isEmpty)

    let deletes = try await database.modifyRecords(saving: [], deleting: ids, atomically: false).deleteResults
    #expect(deletes.count == 201)
    #expect(deletes.values.allSatisfy { (try? $0.get()) != nil })
    #expect(try server.bodies().compactMap { $0["operations"]?.elements.count }.sorted() == [1, 200])
  }

  @Test func `large records are spread over requests by their bytes`() async throws {
    let server = ScriptedServer(.json(#"{"records":[]}"#), .json(#"{"records":[]}"#))
    let records = (0..<3).map { _ in
      let record = CKRecord(recordType: "Note", zoneID: zone)
      record["text"] = String(repeating: "x", count: 700_000)
      return record
    }

    let saves = try await server.container().privateCloudDatabase.modifyRecords(
      saving: records,
      deleting: [],
      atomically: false
    ).saveResults

    #expect(try server.bodies().compactMap { $0["operations"]?.elements.count }.sorted() == [1, 2])
    #expect(records.allSatisfy { code(saves[$0.recordID]) == .serverResponseLost })
  }

  @Test func `a lost answer is told as lost, a request that never left as unreachable`() async throws {
    for (delivery, expected) in [
      (CKTransportError.Delivery.unknown, CKError.Code.serverResponseLost), (.notSent, .networkUnavailable),
    ] {
      let server = ScriptedServer(.failure(delivery))
      let record = fetched("n")
      record["title"] = "mine"

      let error = await #expect(throws: CKError.self) { try await server.container().privateCloudDatabase.save(record) }
      #expect(error?.code == expected)
      #expect(record.changedKeys() == ["title"])
    }
  }

  @Test func `what took effect is not hidden by a later failure`() async throws {
    let other = CKRecordZone.ID(zoneName: "other")
    let ids = [CKRecord.ID(recordName: "a", zoneID: zone), CKRecord.ID(recordName: "b", zoneID: other)]
    let server = ScriptedServer(.json(#"{"records":[{"recordName":"a","deleted":true}]}"#), .failure(.unknown))

    let deletes = try await server.container().privateCloudDatabase.modifyRecords(saving: [], deleting: ids)
      .deleteResults

    #expect(throws: Never.self) { try deletes[ids[0]]?.get() }
    #expect(code(deletes[ids[1]]) == .serverResponseLost)
  }

  @Test func `a missing zone fails its own records only`() async throws {
    let ids = ["gone", "notes"].map { CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: $0)) }
    let server = ScriptedServer(
      .json(#"{"uuid":"1","serverErrorCode":"ZONE_NOT_FOUND","reason":"no zone"}"#, status: 404),
      .json(#"{"records":[{"recordName":"a","deleted":true}]}"#)
    )

    let deletes = try await server.container().privateCloudDatabase.modifyRecords(saving: [], deleting: ids)
      .deleteResults

    #expect(code(deletes[ids[0]]) == .zoneNotFound)
    #expect(throws: Never.self) { try deletes[ids[1]]?.get() }
  }

  @Test func `a record changed twice in one call is refused before anything is sent`() async throws {
    let server = ScriptedServer()
    let record = fetched("n")

    let error = await #expect(throws: CKError.self) {
      try await server.container().privateCloudDatabase.modifyRecords(saving: [record], deleting: [record.recordID])
    }
    #expect(error?.code == .invalidArguments)
    #expect(server.operations.isEmpty)
  }

  @Test func `an edit made while a save is under way stays pending`() throws {
    let record = fetched("n")
    record["title"] = "first"
    let sent = record.snapshot
    record["title"] = "second"
    var answer = WireRecord(recordName: "n", recordType: "Note", recordChangeTag: "2")
    answer.fields = ["title": .string("first"), "body": .string("text")]

    record.accept(answer, sent: sent)

    #expect(record["title"] as? String == "second")
    #expect(record.changedKeys() == ["title"])
    #expect(record.recordChangeTag == "2")
    #expect(record.ancestorRecord?["title"] as? String == "first")
  }

  @Test(arguments: ["Note", nil]) func `after a save a date is the one that the server has`(type: String?) {
    let record = fetched("n")
    record["when"] = Date(timeIntervalSince1970: 1.234_567)
    var answer = WireRecord(recordName: "n", recordType: type, recordChangeTag: "2")
    if type != nil { answer.fields = ["when": .timestamp(1_234)] }

    record.accept(answer, sent: record.snapshot)

    #expect(record["when"] as? Date == Date(timeIntervalSince1970: 1.234))
    #expect(record.changedKeys().isEmpty)
  }
}
