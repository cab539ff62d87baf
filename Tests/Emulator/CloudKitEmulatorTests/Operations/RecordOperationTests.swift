import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct RecordOperationTests {
  private let bench: OperationBench
  private let trace = Trace()

  init() throws { bench = try OperationBench() }

  @Test func `a save tells each record, then the whole, then Foundation`() async throws {
    try await bench.database.save(bench.note("old"))
    let operation = CKModifyRecordsOperation(
      recordsToSave: [bench.note("b", 1), bench.note("a", 2)],
      recordIDsToDelete: [bench.id("old")]
    )
    operation.perRecordProgressBlock = { [trace] in trace.note("progress \($0.recordID.recordName) \($1)") }
    operation.perRecordSaveBlock = { [trace] in trace.note("save \($0.recordName) \(told($1))") }
    operation.perRecordCompletionBlock = { [trace] _, _ in trace.note("never called") }
    operation.perRecordDeleteBlock = { [trace] in trace.note("delete \($0.recordName) \(told($1))") }
    operation.modifyRecordsResultBlock = { [trace] in trace.note("result \(told($0))") }
    operation.modifyRecordsCompletionBlock = { [trace] saved, deleted, error in
      trace.note("completion \(saved?.count ?? -1) \(deleted?.count ?? -1) \(told(error))")
    }

    await bench.run(operation)

    #expect(
      trace.events == [
        "progress b 1.0", "save b ok", "progress a 1.0", "save a ok", "delete old ok", "result ok", "completion 2 1 ok",
      ]
    )
    #expect(operation.isFinished && !operation.isExecuting && !operation.isCancelled)
    #expect(operation.recordsToSave?.allSatisfy { $0.recordChangeTag != nil } == true)
    #expect(operation.modifyRecordsCompletionBlock == nil)
  }

  @Test func `a record that fails is told to its block and in a partial failure`() async throws {
    bench.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "bad"), then: .poison)])
    let operation = CKModifyRecordsOperation(recordsToSave: [bench.note("bad"), bench.note("good")])
    operation.isAtomic = false
    operation.perRecordCompletionBlock = { [trace] in trace.note("\($0.recordID.recordName) \(told($1))") }
    operation.modifyRecordsCompletionBlock = { [trace] saved, deleted, error in
      trace.note("completion \(saved?.map(\.recordID.recordName) ?? []) \(deleted ?? []) \(told(error))")
    }

    await bench.run(operation)

    #expect(
      trace.events == [
        "bad invalidArguments", "good ok",
        "completion [\"good\"] [] partialFailure [\"bad: invalidArguments\"]",
      ]
    )
  }

  @Test func `a failure of the whole is one of each record`() async throws {
    bench.emulator.isOffline = true
    let operation = CKModifyRecordsOperation(
      recordsToSave: [bench.note("a")],
      recordIDsToDelete: [bench.id("b")]
    )
    operation.perRecordSaveBlock = { [trace] in trace.note("save \($0.recordName) \(told($1))") }
    operation.perRecordDeleteBlock = { [trace] in trace.note("delete \($0.recordName) \(told($1))") }
    operation.modifyRecordsCompletionBlock = { [trace] in
      trace.note("completion \($0 == nil) \($1 == nil) \(told($2))")
    }

    await bench.run(operation)

    #expect(
      trace.events == [
        "save a networkUnavailable", "delete b networkUnavailable", "completion true true networkUnavailable",
      ]
    )
  }

  @Test func `a policy decides what a save does with the server's version`() async throws {
    try await bench.database.save(bench.note("a", 1))
    for (policy, expected) in [
      (
        CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, "partialFailure [\"a: serverRecordChanged\"]"
      ),
      (.allKeys, "ok"),
    ] {
      let operation = CKModifyRecordsOperation(recordsToSave: [bench.note("a", 2)], recordIDsToDelete: nil)
      operation.savePolicy = policy
      operation.modifyRecordsResultBlock = { [trace] in trace.note(told($0)) }
      await bench.run(operation)
      #expect(trace.events.last == expected)
    }
    #expect(try await bench.database.record(for: bench.id("a"))["n"] as? Int == 2)
  }

  @Test func `a fetch tells each record once, found or missing`() async throws {
    try await bench.database.save(bench.note("a", 7))
    let operation = CKFetchRecordsOperation(recordIDs: [bench.id("gone"), bench.id("a"), bench.id("gone")])
    operation.desiredKeys = []
    operation.perRecordProgressBlock = { [trace] in trace.note("progress \($0.recordName) \($1)") }
    operation.perRecordResultBlock = { [trace] in trace.note("\($0.recordName) \(told($1))") }
    operation.fetchRecordsResultBlock = { [trace] in trace.note("result \(told($0))") }
    operation.fetchRecordsCompletionBlock = { [trace] records, error in
      trace.note("completion \(records?.values.map { $0.allKeys() } ?? []) \(told(error))")
    }

    await bench.run(operation)

    #expect(
      trace.events == [
        "gone unknownItem", "progress a 1.0", "a ok", "result partialFailure [\"gone: unknownItem\"]",
        "completion [[]] partialFailure [\"gone: unknownItem\"]",
      ]
    )
  }

  @Test func `the user's own record is read`() async throws {
    let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
    operation.perRecordCompletionBlock = { [trace] record, id, error in
      trace.note("\(record?.recordType ?? "") \(record?.recordID == id) \(told(error))")
    }

    await bench.run(operation, in: bench.container.publicCloudDatabase)

    #expect(trace.events == ["Users true ok"])
  }

  @Test func `a query is read page by page, in its order, with blocks handed on`() async throws {
    try await bench.database.modifyRecords(saving: (0..<5).map { bench.note("n\($0)", $0) }, deleting: [])
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    query.sortDescriptors = [NSSortDescriptor(key: "n", ascending: false)]
    var operation: CKQueryOperation? = CKQueryOperation(query: query)
    operation?.zoneID = bench.zoneID
    operation?.recordFetchedBlock = { [trace] in trace.note("\($0["n"] as? Int ?? -1)") }

    while let page = operation {
      page.resultsLimit = 2
      // Code often hands the blocks of a page on to the next from within the last of them.
      var next: CKQueryOperation?
      page.queryCompletionBlock = { [trace] cursor, error in
        trace.note(told(error))
        next = cursor.map(CKQueryOperation.init(cursor:))
        next?.recordFetchedBlock = page.recordFetchedBlock
      }
      await bench.run(page)
      operation = next
    }

    #expect(trace.events == ["4", "3", "ok", "2", "1", "ok", "0", "ok"])
  }

  @Test func `a query matches records with their results, and one without a question fails`() async throws {
    try await bench.database.save(bench.note("a"))
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    for operation in [CKQueryOperation(query: query), CKQueryOperation()] {
      operation.recordMatchedBlock = { [trace] in trace.note("\($0.recordName) \(told($1))") }
      operation.recordFetchedBlock = { [trace] _ in trace.note("never called") }
      operation.queryResultBlock = { [trace] result in trace.note("result \(told(result))") }
      await bench.run(operation)
    }

    #expect(trace.events == ["a ok", "result ok", "result invalidArguments"])
  }

  @Test func `a query that is cancelled by its own block tells no further record`() async throws {
    try await bench.database.modifyRecords(saving: (0..<5).map { bench.note("n\($0)", $0) }, deleting: [])
    let operation = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
    operation.recordMatchedBlock = { [trace, unowned operation] _, _ in
      trace.note("record")
      operation.cancel()
    }
    operation.queryResultBlock = { [trace] in trace.note(told($0)) }

    await bench.run(operation)

    #expect(trace.events == ["record", "operationCancelled"])
  }

  @Test @MainActor func `blocks written in code of the main actor may change its variables`() async throws {
    try await bench.database.modifyRecords(saving: (0..<3).map { bench.note("n\($0)") }, deleting: [])
    let operation = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
    var names: Set<String> = []
    operation.recordMatchedBlock = { id, _ in names.insert(id.recordName) }
    operation.queryResultBlock = { [trace] in trace.note(told($0)) }

    await bench.run(operation)

    #expect(names == ["n0", "n1", "n2"])
    #expect(trace.events == ["ok"])
  }
}
