import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct ZoneOperationTests {
  private let bench: OperationBench
  private let trace = Trace()

  init() throws { bench = try OperationBench() }

  private func zone(_ name: String) -> CKRecordZone.ID { CKRecordZone.ID(zoneName: name) }

  @Test func `zones are made and deleted, each with its result`() async throws {
    let operation = CKModifyRecordZonesOperation(
      recordZonesToSave: [CKRecordZone(zoneName: "new"), CKRecordZone(zoneName: "notes")],
      recordZoneIDsToDelete: [zone("gone")]
    )
    operation.perRecordZoneSaveBlock = { [trace] in trace.note("save \($0.zoneName) \(told($1))") }
    operation.perRecordZoneDeleteBlock = { [trace] in trace.note("delete \($0.zoneName) \(told($1))") }
    operation.modifyRecordZonesResultBlock = { [trace] in trace.note("result \(told($0))") }
    operation.modifyRecordZonesCompletionBlock = { [trace] in
      trace.note("completion \($0?.count ?? -1) \($1?.count ?? -1) \(told($2))")
    }

    await bench.run(operation)

    #expect(
      trace.events == [
        "save new ok", "save notes ok", "delete gone zoneNotFound", "result partialFailure [\"gone: zoneNotFound\"]",
        "completion 2 0 partialFailure [\"gone: zoneNotFound\"]",
      ]
    )
  }

  @Test func `deleting a zone that does not exist throws zoneNotFound, unless the server lets it succeed`() async throws
  {
    var configuration = EmulatorConfiguration()
    configuration.assumptions.missingZone = .succeeds
    let lenient = Device(try Emulator(configuration: configuration)).database

    #expect(await codeThrown { try await bench.database.deleteRecordZone(withID: zone("gone")) } == .zoneNotFound)
    #expect(try await lenient.deleteRecordZone(withID: zone("gone")) == zone("gone"))
  }

  @Test func `zones are read by name or all at once`() async throws {
    let some = CKFetchRecordZonesOperation(recordZoneIDs: [zone("notes"), zone("gone")])
    let all = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
    for operation in [some, all] {
      operation.perRecordZoneResultBlock = { [trace] in trace.note("\($0.zoneName) \(told($1))") }
      operation.fetchRecordZonesResultBlock = { [trace] in trace.note("result \(told($0))") }
      operation.fetchRecordZonesCompletionBlock = { [trace] zones, _ in
        trace.note("completion \(zones?.keys.map(\.zoneName).sorted() ?? [])")
      }
      await bench.run(operation)
    }

    #expect(
      trace.events == [
        "notes ok", "gone zoneNotFound", "result partialFailure [\"gone: zoneNotFound\"]", "completion [\"notes\"]",
        "_defaultZone ok", "notes ok", "result ok", "completion [\"_defaultZone\", \"notes\"]",
      ]
    )
  }

  @Test func `changes of a database are read to their end, or one page`() async throws {
    try await bench.database.modifyRecordZones(saving: ["a", "b"].map(CKRecordZone.init(zoneName:)), deleting: [])
    var tokens: [CKServerChangeToken] = []
    func operation(since token: CKServerChangeToken?) -> CKFetchDatabaseChangesOperation {
      let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
      operation.resultsLimit = 2
      operation.recordZoneWithIDChangedBlock = { [trace] in trace.note("changed \($0.zoneName)") }
      operation.recordZoneWithIDWasDeletedBlock = { [trace] in trace.note("deleted \($0.zoneName)") }
      operation.changeTokenUpdatedBlock = { [trace] _ in trace.note("token") }
      operation.fetchDatabaseChangesCompletionBlock = { [trace] token, moreComing, error in
        if let token { tokens.append(token) }
        trace.note("completion \(moreComing) \(told(error))")
      }
      return operation
    }

    await bench.run(operation(since: nil))
    #expect(
      trace.events == ["changed notes", "changed a", "token", "changed b", "token", "completion false ok"]
    )

    try await bench.database.deleteRecordZone(withID: zone("a"))
    await bench.run(operation(since: tokens.last))
    #expect(trace.events.suffix(3) == ["deleted a", "token", "completion false ok"])

    let page = operation(since: nil)
    page.fetchAllChanges = false
    page.fetchDatabaseChangesResultBlock = { [trace] in
      trace.note("result \((try? $0.get().moreComing).map { "\($0)" } ?? told($0))")
    }
    page.resultsLimit = 1
    await bench.run(page)
    #expect(trace.events.suffix(4) == ["changed notes", "token", "result true", "completion true ok"])

    await bench.run(operation(since: nil), in: bench.container.publicCloudDatabase)
    #expect(trace.events.last == "completion false badDatabase")
  }

  @Test func `changes of zones are read zone by zone in the server's order, and a missing zone stops none`()
    async throws
  {
    let other = zone("other")
    try await bench.database.save(CKRecordZone(zoneID: other))
    for name in ["z", "a", "m"] { try await bench.database.save(bench.note(name)) }
    try await bench.database.deleteRecord(withID: bench.id("a"))
    try await bench.database.save(CKRecord(recordType: "Note", recordID: .init(recordName: "o", zoneID: other)))
    let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(resultsLimit: 2)
    let operation = CKFetchRecordZoneChangesOperation(
      recordZoneIDs: [bench.zoneID, zone("gone"), other],
      configurationsByRecordZoneID: [bench.zoneID: configuration]
    )
    // Blocks of one operation may share variables: they are called one after the other.
    var changed: [String] = []
    var deleted: [String] = []
    operation.recordWasChangedBlock = { id, result in
      if case .success = result { changed.append(id.recordName) }
    }
    operation.recordChangedBlock = { [trace] _ in trace.note("never called") }
    operation.recordWithIDWasDeletedBlock = { id, _ in deleted.append(id.recordName) }
    operation.recordZoneChangeTokensUpdatedBlock = { [trace] zoneID, token, _ in
      trace.note("token \(zoneID.zoneName) \(token != nil)")
    }
    operation.recordZoneFetchResultBlock = { [trace] in trace.note("zone \($0.zoneName) \(told($1))") }
    operation.recordZoneFetchCompletionBlock = { [trace] zoneID, token, _, moreComing, error in
      trace.note("older \(zoneID.zoneName) \(token != nil) \(moreComing) \(told(error))")
    }
    operation.fetchRecordZoneChangesResultBlock = { [trace] in trace.note("result \(told($0))") }
    operation.fetchRecordZoneChangesCompletionBlock = { [trace] in trace.note("completion \(told($0))") }

    await bench.run(operation)

    #expect(changed == ["z", "m", "o"])
    #expect(deleted == ["a"])
    #expect(
      trace.events == [
        "token notes true", "token notes true", "zone notes ok", "older notes true false ok",
        "zone gone zoneNotFound", "older gone false false zoneNotFound",
        "token other true", "zone other ok", "older other true false ok",
        "result partialFailure [\"gone: zoneNotFound\"]", "completion partialFailure [\"gone: zoneNotFound\"]",
      ]
    )
  }

  @Test func `a zone that was fetched by its ID knows its share`() async throws {
    let database = bench.database
    #expect(try await database.recordZone(for: bench.zoneID).share == nil)
    let share = CKShare(recordZoneID: bench.zoneID)
    _ = try await database.modifyRecords(saving: [share], deleting: [])
    let zone = try await database.recordZone(for: bench.zoneID)
    #expect(zone.share?.recordID == share.recordID)
    #expect(zone.encryptionScope == .perRecord)
    #expect(try await database.recordZone(for: .default).share == nil)
  }

  @Test func `the changes of many zones are one request, and each further page of all of them one more`() async throws {
    let zones = (0..<5).map { zone("z\($0)") }
    for zone in zones {
      try await bench.database.save(CKRecordZone(zoneID: zone))
      for name in ["a", "b", "c"] {
        let id = CKRecord.ID(recordName: "\(zone.zoneName)-\(name)", zoneID: zone)
        try await bench.database.save(CKRecord(recordType: "Note", recordID: id))
      }
    }
    for (limit, requests) in [(0, 1), (2, 2)] {
      let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(resultsLimit: limit)
      let operation = CKFetchRecordZoneChangesOperation(
        recordZoneIDs: zones,
        configurationsByRecordZoneID: Dictionary(uniqueKeysWithValues: zones.map { ($0, configuration) })
      )
      var changed: [String] = []
      var ended: [String] = []
      operation.recordWasChangedBlock = { id, _ in
        // Each record has the name of its zone.
        if id.recordName.hasPrefix(id.zoneID.zoneName) { changed.append(id.recordName) }
      }
      operation.recordZoneFetchResultBlock = { zone, result in ended.append("\(zone.zoneName) \(told(result))") }
      let before = bench.gate.count

      await bench.run(operation)

      #expect(bench.gate.count - before == requests)
      #expect(Set(changed).count == 15 && changed.count == 15 && ended == zones.map { "\($0.zoneName) ok" })
    }
  }

  @Test func `a zone that has no room in a reply for several gets one of its own`() async throws {
    let big = zone("big")
    try await bench.database.save(CKRecordZone(zoneID: big))
    for number in 0..<25 {
      let record = CKRecord(recordType: "Note", recordID: .init(recordName: "b\(number)", zoneID: big))
      record["text"] = String(repeating: "x", count: 900_000)
      try await bench.database.save(record)
    }
    try await bench.database.save(bench.note("small"))
    let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [big, bench.zoneID])
    var changed: Set<String> = []
    operation.recordWasChangedBlock = { id, _ in changed.insert(id.recordName) }
    operation.fetchRecordZoneChangesResultBlock = { [trace] in trace.note(told($0)) }

    await bench.run(operation)

    #expect(changed.count == 26 && trace.events == ["ok"])
  }

  @Test func `an expired token fails its zone, and the network all that follow`() async throws {
    try await bench.database.save(bench.note("a"))
    let token = try await bench.database.recordZoneChanges(inZoneWith: bench.zoneID, since: nil).changeToken
    bench.emulator.faults = FaultPlan(rules: [FaultRule(then: .expiredToken)])
    let options = CKFetchRecordZoneChangesOperation.ZoneOptions()
    options.previousServerChangeToken = token
    options.desiredKeys = []
    let expired = CKFetchRecordZoneChangesOperation(
      recordZoneIDs: [bench.zoneID],
      optionsByRecordZoneID: [bench.zoneID: options]
    )
    let unreachable = CKFetchRecordZoneChangesOperation(recordZoneIDs: [bench.zoneID, zone("other")])
    for operation in [expired, unreachable] {
      operation.recordZoneFetchCompletionBlock = { [trace] in trace.note("\($0.zoneName) \(told($4))") }
      operation.fetchRecordZoneChangesCompletionBlock = { [trace] in trace.note("completion \(told($0))") }
      await bench.run(operation)
      bench.emulator.isOffline = true
    }

    #expect(
      trace.events == [
        "notes changeTokenExpired", "completion partialFailure [\"notes: changeTokenExpired\"]",
        "notes networkUnavailable", "other networkUnavailable", "completion networkUnavailable",
      ]
    )
  }

  @Test func `a feed that stands still is not read for ever`() async throws {
    bench.emulator.faults = FaultPlan(rules: [FaultRule(then: .emptyPageMoreComing)])
    let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [bench.zoneID])
    operation.recordZoneFetchResultBlock = { [trace] in trace.note(told($1)) }

    await bench.run(operation)

    #expect(trace.events == ["internalError"])
  }

  @Test func `subscriptions are saved, read and deleted, each with its result`() async throws {
    let (news, gone) = ("news", "gone")
    let modify = CKModifySubscriptionsOperation(
      subscriptionsToSave: [CKDatabaseSubscription(subscriptionID: news)],
      subscriptionIDsToDelete: [gone]
    )
    modify.perSubscriptionSaveBlock = { [trace] in trace.note("save \($0) \(told($1))") }
    modify.perSubscriptionDeleteBlock = { [trace] in trace.note("delete \($0) \(told($1))") }
    modify.modifySubscriptionsResultBlock = { [trace] in trace.note("result \(told($0))") }
    modify.modifySubscriptionsCompletionBlock = { [trace] in
      trace.note("completion \($0?.count ?? -1) \($1?.count ?? -1) \(told($2))")
    }
    let some = CKFetchSubscriptionsOperation(subscriptionIDs: [gone, news])
    let all = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
    for fetch in [some, all] {
      fetch.perSubscriptionResultBlock = { [trace] in trace.note("\($0) \(told($1))") }
      fetch.fetchSubscriptionsResultBlock = { [trace] in trace.note("result \(told($0))") }
      fetch.fetchSubscriptionCompletionBlock = { [trace] found, _ in trace.note("completion \(found?.count ?? -1)") }
    }

    for operation in [modify, some, all] { await bench.run(operation) }

    #expect(
      trace.events == [
        "save news ok", "delete gone unknownItem", "result partialFailure [\"gone: unknownItem\"]",
        "completion 1 0 partialFailure [\"gone: unknownItem\"]",
        "gone unknownItem", "news ok", "result partialFailure [\"gone: unknownItem\"]", "completion 1",
        "news ok", "result ok", "completion 1",
      ]
    )
  }
}
