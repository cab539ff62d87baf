import CloudKit
import CloudKitEmulator
import Foundation
import Testing

/// What holds for every operation, whatever happens to it.
@Suite(.serialized, .timeLimit(.minutes(40))) struct OperationContractTests {
  enum Kind: CaseIterable, Sendable {
    case fetch, modify, query, fetchZones, modifyZones, databaseChanges, zoneChanges
  }

  enum Event: CaseIterable, Sendable {
    case nothing, offline, throttled, refused, badGateway, lostAnswer, poison
    case cancelledBeforeStart, cancelledOnTheWay, cancelledByABlock
  }

  /// Items that the program names, so that each has to be told once.
  private static let named = ["a", "b", "c"]

  private func operation(_ kind: Kind, _ bench: OperationBench, _ trace: Trace) -> CKDatabaseOperation {
    let zones = Self.named.map { CKRecordZone.ID(zoneName: $0) }
    switch kind {
    case .fetch:
      let operation = CKFetchRecordsOperation(recordIDs: Self.named.map(bench.id))
      operation.perRecordResultBlock = { id, _ in trace.note("item \(id.recordName)") }
      operation.fetchRecordsResultBlock = { trace.note("result \(told($0))") }
      operation.fetchRecordsCompletionBlock = { trace.note("completion \(told($1))") }
      return operation
    case .modify:
      let operation = CKModifyRecordsOperation(
        recordsToSave: ["a", "b"].map { bench.note($0, 5) },
        recordIDsToDelete: [bench.id("c")]
      )
      operation.savePolicy = .changedKeys
      operation.perRecordSaveBlock = { id, _ in trace.note("item \(id.recordName)") }
      operation.perRecordDeleteBlock = { id, _ in trace.note("item \(id.recordName)") }
      operation.modifyRecordsResultBlock = { trace.note("result \(told($0))") }
      operation.modifyRecordsCompletionBlock = { trace.note("completion \(told($2))") }
      return operation
    case .query:
      let operation = CKQueryOperation(query: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
      operation.recordMatchedBlock = { id, _ in trace.note("item \(id.recordName)") }
      operation.queryResultBlock = { trace.note("result \(told($0))") }
      operation.queryCompletionBlock = { trace.note("completion \(told($1))") }
      return operation
    case .fetchZones:
      let operation = CKFetchRecordZonesOperation(recordZoneIDs: zones)
      operation.perRecordZoneResultBlock = { id, _ in trace.note("item \(id.zoneName)") }
      operation.fetchRecordZonesResultBlock = { trace.note("result \(told($0))") }
      operation.fetchRecordZonesCompletionBlock = { trace.note("completion \(told($1))") }
      return operation
    case .modifyZones:
      let operation = CKModifyRecordZonesOperation(
        recordZonesToSave: zones.prefix(2).map(CKRecordZone.init(zoneID:)),
        recordZoneIDsToDelete: [zones[2]]
      )
      operation.perRecordZoneSaveBlock = { id, _ in trace.note("item \(id.zoneName)") }
      operation.perRecordZoneDeleteBlock = { id, _ in trace.note("item \(id.zoneName)") }
      operation.modifyRecordZonesResultBlock = { trace.note("result \(told($0))") }
      operation.modifyRecordZonesCompletionBlock = { trace.note("completion \(told($2))") }
      return operation
    case .databaseChanges:
      let operation = CKFetchDatabaseChangesOperation()
      operation.recordZoneWithIDChangedBlock = { trace.note("item \($0.zoneName)") }
      operation.fetchDatabaseChangesResultBlock = { trace.note("result \(told($0))") }
      operation.fetchDatabaseChangesCompletionBlock = { trace.note("completion \(told($2))") }
      return operation
    case .zoneChanges:
      let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [bench.zoneID])
      operation.recordWasChangedBlock = { id, _ in trace.note("item \(id.recordName)") }
      operation.recordZoneFetchResultBlock = { trace.note("zone \($0.zoneName) \(told($1))") }
      operation.fetchRecordZoneChangesResultBlock = { trace.note("result \(told($0))") }
      operation.fetchRecordZoneChangesCompletionBlock = { trace.note("completion \(told($0))") }
      return operation
    }
  }

  private func fault(_ event: Event) -> FaultAction? {
    switch event {
    case .offline: .offline
    case .throttled: .throttled(retryAfter: 3)
    case .refused: .internalError
    case .badGateway: .badGateway()
    case .lostAnswer: .dropAfterCommit
    case .poison: .poison
    case .nothing, .cancelledBeforeStart, .cancelledOnTheWay, .cancelledByABlock: nil
    }
  }

  @Test(arguments: Kind.allCases, Event.allCases)
  func `each block is called as often as it should, in order, one at a time`(kind: Kind, event: Event) async throws {
    let bench = try OperationBench()
    try await bench.database.modifyRecords(saving: Self.named.map { bench.note($0) }, deleting: [])
    try await bench.database.modifyRecordZones(saving: Self.named.map(CKRecordZone.init(zoneName:)), deleting: [])
    let trace = Trace()
    let operation = operation(kind, bench, trace)
    if let fault = fault(event) { bench.emulator.faults = FaultPlan(rules: [FaultRule(then: fault)]) }

    await withCheckedContinuation { continuation in
      operation.completionBlock = {
        trace.note("foundation")
        continuation.resume()
      }
      switch event {
      case .cancelledBeforeStart: operation.cancel()
      case .cancelledOnTheWay:
        bench.gate.close()
        Task {
          await bench.gate.arrival()
          operation.cancel()
        }
      case .cancelledByABlock: cancelInFirstBlock(of: operation, trace)
      default: break
      }
      bench.database.add(operation)
    }

    let events = trace.events
    let story: Comment = "\(kind) \(event): \(events)"
    #expect(!trace.overlapped, story)
    #expect(events.last == "foundation", story)
    #expect(events.filter { $0 == "foundation" }.count == 1, story)
    let ends = events.suffix(3).dropLast().map { $0.split(separator: " ", maxSplits: 1) }
    try #require(ends.count == 2, story)
    #expect(ends.map { String($0[0]) } == ["result", "completion"], story)
    #expect(ends[0][1] == ends[1][1], "both forms say the same: \(events)")
    #expect(events.filter { $0.hasPrefix("result") || $0.hasPrefix("completion") }.count == 2, story)
    let items = events.filter { $0.hasPrefix("item") }
    #expect(Set(items).count == items.count, story)
    switch kind {
    case .fetch, .modify, .fetchZones, .modifyZones: #expect(items.sorted() == ["item a", "item b", "item c"], story)
    case .zoneChanges: #expect(events.filter { $0.hasPrefix("zone") }.count == 1, story)
    case .query, .databaseChanges: break
    }
    let end = String(ends[0][1])
    switch event {
    case .nothing: #expect(end == "ok", story)
    case .offline, .throttled, .refused, .badGateway, .lostAnswer: #expect(end != "ok", story)
    case .poison: #expect((end == "ok") == (kind != .modify), story)
    case .cancelledBeforeStart, .cancelledOnTheWay: #expect(end == "operationCancelled", story)
    case .cancelledByABlock:
      // What names its items had them all by then; what streams them stops.
      switch kind {
      case .fetch, .modify, .fetchZones, .modifyZones: #expect(end == "ok", story)
      case .query, .databaseChanges, .zoneChanges:
        #expect(end == "operationCancelled", story)
        #expect(items.count == 1, story)
      }
    }
    #expect(event != .cancelledBeforeStart || bench.gate.count == 2, story)
  }

  private func cancelInFirstBlock(of operation: CKDatabaseOperation, _ trace: Trace) {
    switch operation {
    case let operation as CKFetchRecordsOperation:
      let block = operation.perRecordResultBlock
      operation.perRecordResultBlock = { [unowned operation] in
        operation.cancel()
        block?($0, $1)
      }
    case let operation as CKModifyRecordsOperation:
      let block = operation.perRecordSaveBlock
      operation.perRecordSaveBlock = { [unowned operation] in
        operation.cancel()
        block?($0, $1)
      }
    case let operation as CKQueryOperation:
      let block = operation.recordMatchedBlock
      operation.recordMatchedBlock = { [unowned operation] in
        operation.cancel()
        block?($0, $1)
      }
    case let operation as CKFetchRecordZonesOperation:
      let block = operation.perRecordZoneResultBlock
      operation.perRecordZoneResultBlock = { [unowned operation] in
        operation.cancel()
        block?($0, $1)
      }
    case let operation as CKModifyRecordZonesOperation:
      let block = operation.perRecordZoneSaveBlock
      operation.perRecordZoneSaveBlock = { [unowned operation] in
        operation.cancel()
        block?($0, $1)
      }
    case let operation as CKFetchDatabaseChangesOperation:
      let block = operation.recordZoneWithIDChangedBlock
      operation.recordZoneWithIDChangedBlock = { [unowned operation] in
        operation.cancel()
        block?($0)
      }
    case let operation as CKFetchRecordZoneChangesOperation:
      let block = operation.recordWasChangedBlock
      operation.recordWasChangedBlock = { [unowned operation] in
        operation.cancel()
        block?($0, $1)
      }
    default: Issue.record("an operation without items")
    }
  }
}
