import CloudKit
import CloudKitEmulator
import CloudSupport
import CloudSync
import CloudSyncModels
import Foundation
import Testing

@testable import CloudKitModels

/// A model without fields, so that its record can have any.
private struct Item: Codable, Identifiable, CKRecordModel {
  let id: String
}

/// Deletions of models with what hangs together with them.
@Suite(.serialized) struct CascadeTests {
  private let cloud: Cloud
  private let zone = CKRecordZone.ID(zoneName: "cktop")
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  // MARK: - Decisions

  /// Records of a test in words: "a: b! c^ d? e" is a record `a` that refers to `b` with DELETE_SELF, has the parent `c`,
  /// refers to `d` with VALIDATE, and to `e` with NONE.
  private func records(_ text: String, in zone: CKRecordZone.ID) -> [CKRecord] {
    text.split(separator: ";").map { line in
      let parts = line.split(separator: ":").map { $0.trimmingCharacters(in: .whitespaces) }
      let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: parts[0], zoneID: zone))
      for (index, word) in (parts.count > 1 ? parts[1] : "").split(separator: " ").enumerated() {
        let name = word.filter { $0.isLetter || $0.isNumber }
        let action = word.hasSuffix("!") ? "DELETE_SELF" : word.hasSuffix("?") ? "VALIDATE" : "NONE"
        let wire = WireReference(recordName: name, action: action)
        let reference = CKRecord(
          wire: WireRecord(recordName: "x", recordType: "X", fields: ["r": .reference(wire)]),
          zoneID: zone
        )["r"]
        if word.hasSuffix("^") {
          record.parent = CKRecord.Reference(recordID: .init(recordName: name, zoneID: zone), action: .none)
        } else {
          record["r\(index)"] = reference
        }
      }
      return record
    }
  }

  private func plan(_ text: String, _ roots: [String], _ cascade: CKCascade) async throws -> CKDeletionPlan {
    let all = records(text, in: zone).map(LinkedRecord.init)
    return try await DeletionSearch.plan(
      deleting: roots.map { CKRecord.ID(recordName: $0, zoneID: zone) },
      cascade: cascade,
      records: { ids in all.filter { ids.contains($0.id) } },
      zone: { zone in all.filter { $0.id.zoneID == zone } }
    )
  }

  private static let plans: [(String, CKCascade, [[String]])] = [
    ("a: b c; b: d; c; d; x: a", .targets, [["d", "c"], ["b"], ["a"]]),
    ("a: b c; b: d; c: d; d", .targets, [["d"], ["b", "c"], ["a"]]),
    ("a: b; b: a", .targets, [["b"], ["a"]]),
    ("a: a lost", .targets, [["a"]]),
    ("a: p^; p", .targets, [["a"]]),
    // The server would delete `a` together with `b`, and refuses to delete `d` first.
    ("a: b! d? e; b; d; e", .targets, [["e"], ["a"], ["b", "d"]]),
    ("a; b: a^; c: b!; d: a; e: a?", .children, [["c"], ["b"], ["a"]]),
    ("a: t; b: a! t; t; u: t!", .children, [["b"], ["a"]]),
    ("a: t; b: a! t; t; u: t!", [.children, .targets], [["u"], ["t"], ["b"], ["a"]]),
    ("b: a^; c: b^", .children, [["c"], ["b"]]),
    ("a: b!; b: a!", .children, [["b"], ["a"]]),
    ("a: b; b: a^", [], [["a"]]),
  ]

  @Test(arguments: plans)
  func `a plan has what hangs together, with what depends on others first`(
    records: String,
    cascade: CKCascade,
    expected: [[String]]
  ) async throws {
    let plan = try await plan(records, ["a"], cascade)
    #expect(plan.steps.map { $0.map(\.recordID.recordName).sorted() } == expected.map { $0.sorted() })
  }

  @Test func `a plan names the reason of each record`() async throws {
    let plan = try await plan("a: t; b: a^; t", ["a"], [.children, .targets])
    let reasons = Dictionary(uniqueKeysWithValues: plan.records.map { ($0.recordID.recordName, $0.reason) })
    let root = CKRecord.ID(recordName: "a", zoneID: zone)
    #expect(reasons == ["a": .requested, "b": .child(of: root), "t": .target(of: root)])
  }

  @Test func `requests are atomic where the zone allows it, and wait for each other elsewhere`() async throws {
    let records = (0..<450).map { "c\($0): a^" }.joined(separator: ";")
    let custom = try await plan("a;" + records, ["a"], .children).requests
    #expect(custom.map(\.records.count) == [200, 200, 51])
    #expect(custom.allSatisfy(\.isAtomic) && custom.last?.records.last?.recordID.recordName == "a")

    let other = try await DeletionSearch.plan(
      deleting: [CKRecord.ID(recordName: "a")],
      cascade: .targets,
      records: { ids in
        self.records("a: b; b: c; c", in: .default).map(LinkedRecord.init).filter { ids.contains($0.id) }
      },
      zone: { _ in [] }
    ).requests
    #expect(other.map { $0.records.map(\.recordID.recordName) } == [["c"], ["b"], ["a"]])
    #expect(other.map(\.isAtomic) == [false, false, false])
  }

  // MARK: - On a server

  private func save(_ text: String, in zone: CKRecordZone.ID? = nil) async throws {
    let zone = zone ?? self.zone
    if zone != .default { try await database.save(CKRecordZone(zoneID: zone)) }
    let records = records(text, in: zone)
    for start in stride(from: 0, to: records.count, by: 200) {
      let part = Array(records[start..<min(start + 200, records.count)])
      for result in try await database.modifyRecords(saving: part, deleting: []).saveResults.values {
        _ = try result.get()
      }
    }
  }

  private func isOnServer(_ name: String, zone: String = "cktop") -> Bool { cloud.onServer(name, zone: zone) != nil }

  private func names(_ ids: [CKRecord.ID]) -> [String] { ids.map(\.recordName) }

  @Test func `targets of three levels and a cycle are deleted, the last ones first, in one request`() async throws {
    try await save("c; b: c; a: b d; d: a; x")
    let before = cloud.requests.bodies("records/modify").count

    let plan = try await database.plan(deleting: Item(id: "a"), cascade: .targets)
    #expect(plan.records.count == 4 && isOnServer("c"))
    let report = try await database.delete(Item(id: "a"), cascade: .targets)

    #expect(report.error == nil && names(report.deleted).last == "a" && names(report.deleted).first != "b")
    #expect(["a", "b", "c", "d"].filter { isOnServer($0) } == [] && isOnServer("x"))
    #expect(cloud.requests.bodies("records/modify").count == before + 1)
  }

  @Test func `a thousand children of three levels are deleted in requests of 200`() async throws {
    try await save("a;" + (0..<10).map { "b\($0): a^" }.joined(separator: ";"))
    try await save((0..<990).map { "c\($0): b\($0 % 10)^" }.joined(separator: ";"))
    let before = cloud.requests.bodies("records/modify").count
    let pages = cloud.requests.bodies("changes/zone").count

    let report = try await database.delete(Item(id: "a"), cascade: .children)

    #expect(report.error == nil && report.deleted.count == 1_001)
    #expect(cloud.requests.bodies("records/modify").count == before + 6)
    #expect(cloud.requests.bodies("changes/zone").count <= pages + 6)
    #expect(!isOnServer("a") && !isOnServer("b9") && !isOnServer("c989"))
  }

  @Test func `a change feed that stands still ends the search for children`() async throws {
    try await save("a; b: a^")
    cloud.emulator.faults = FaultPlan(
      rules: [FaultRule(when: FaultCondition(operation: "changes/zone"), then: .stalledMarker)]
    )

    #expect(await code { try await database.plan(deleting: Item(id: "a"), cascade: .children) } == .internalError)
    #expect(cloud.requests.bodies("changes/zone").count == 2)
  }

  @Test func `a refused child keeps its parent, and the report lists each record`() async throws {
    try await save("a; b: a^; c: b^; h: c?")

    let report = try await database.delete(Item(id: "a"), cascade: .children)

    let outcomes = report.results.map { record, outcome in
      switch outcome {
      case .deleted: "\(record.recordID.recordName) deleted"
      case .failed: "\(record.recordID.recordName) failed"
      case .kept: "\(record.recordID.recordName) kept"
      }
    }
    #expect(outcomes == ["c failed", "b kept", "a kept"])
    #expect((report.error as? CKError)?.code == .referenceViolation && report.deleted == [])
    #expect(isOnServer("a") && isOnServer("b") && isOnServer("c"))
  }

  @Test func `a refusal in a later request keeps the parent and the records after it`() async throws {
    try await save("a;" + (0..<300).map { "c\($0): a^" }.joined(separator: ";"))
    let first = try await database.plan(deleting: Item(id: "a"), cascade: .children).records
    try await save("h: \(first[250].recordID.recordName)?")

    let report = try await database.delete(Item(id: "a"), cascade: .children)

    #expect(report.deleted.count == 200 && (report.error as? CKError)?.code == .referenceViolation)
    #expect(isOnServer("a") && report.results.count == 301)
  }

  @Test func `a model that is not deleted among several is an error, which knows what is deleted`() async throws {
    try await save("a; b; h: a?")

    let error = try await #require(throws: CKModelBatchError.self) {
      try await database.delete([Item(id: "b"), Item(id: "a"), Item(id: "unknown")])
    }

    #expect(error.failures.map(\.index) == [1] && names(error.failures.map(\.recordID)) == ["a"])
    #expect((error.failures[0].error as? CKError)?.code == .referenceViolation)
    #expect(names(error.deleted) == ["b", "unknown"] && error.saved.isEmpty)
    #expect(isOnServer("a") && !isOnServer("b"))
  }

  @Test func `a report of records that were kept has an error`() {
    let record = CKDeletionPlan.Record(recordID: CKRecord.ID(recordName: "a"), recordType: "Item", reason: .requested)
    let report = CKDeletionReport(results: [(record, .kept)])
    #expect((report.error as? CKError)?.code == .batchRequestFailed && report.deleted.isEmpty)
    #expect(CKDeletionReport(results: [(record, .deleted)]).error == nil)
  }

  @Test func `records that are gone meanwhile count as deleted`() async throws {
    try await save("a;" + (0..<250).map { "c\($0): a^" }.joined(separator: ";"))
    let plan = try await database.plan(deleting: Item(id: "a"), cascade: .children)
    try await database.delete([Item(id: "c7"), Item(id: "c8")])
    let report = try await database.delete(plan)
    #expect(report.error == nil && report.deleted.count == 251 && !isOnServer("a") && !isOnServer("c9"))
  }

  @Test func `a record that the server deletes with its target is not reported as kept`() async throws {
    try await save("a: b! c; b; c; h: c?", in: .default)
    let refused = try await database.delete(Item(id: "a"), cascade: .targets, in: .default)
    #expect(refused.deleted == [] && refused.error != nil)
    #expect(isOnServer("a", zone: "_defaultZone") && isOnServer("b", zone: "_defaultZone"))

    // Two that the server deletes with each other.
    try await save("x: y!; y: x!", in: .default)
    let report = try await database.delete(Item(id: "x"), cascade: .targets, in: .default)
    #expect(report.error == nil && report.deleted.count == 2)
  }

  @Test func `in a default zone targets are deleted level by level, and children cannot be found`() async throws {
    try await save("c; b: c; a: b; h: c?", in: .default)

    let report = try await database.delete(Item(id: "a"), cascade: .targets, in: .default)

    #expect(report.deleted == [] && report.results.count == 3 && report.error != nil)
    #expect(isOnServer("a", zone: "_defaultZone") && isOnServer("b", zone: "_defaultZone"))
    let refusal = await code { try await database.plan(deleting: Item(id: "a"), cascade: .children, in: .default) }
    #expect(refusal == .invalidArguments)
  }

  @Test func `a model that is not on the server is deleted already`() async throws {
    let report = try await database.delete(Item(id: "a"), cascade: [.targets, .children])
    #expect(report.results.isEmpty && report.error == nil)
  }

  @Test func `a cascade has a completion handler`() async throws {
    try await save("b; a: b")
    let report = try await withCheckedThrowingContinuation { continuation in
      database.delete(Item(id: "a"), cascade: .targets) { continuation.resume(with: $0) }
    }
    #expect(names(report.deleted) == ["b", "a"])
  }

  // MARK: - In the queue

  @Test func `the queue deletes children of the local copy in one atomic request`() async throws {
    let phone = try cloud.device("phone")
    try await save("a; b: a^; c: b!; x: c")
    try await phone.sync()

    let plan = try await phone.store.plan(deleting: Item(id: "a"), cascade: .children)
    let queued = try await phone.store.delete(plan)

    #expect(names(queued.map(\.recordID)) == ["c", "b", "a"])
    #expect(try await phone.store.all(Item.self).map(\.id) == ["x"])
    let before = cloud.requests.bodies("records/modify").count
    try await phone.sync()
    #expect(!isOnServer("a") && !isOnServer("b") && !isOnServer("c") && isOnServer("x"))
    #expect(cloud.requests.bodies("records/modify").count == before + 1)
  }

  @Test func `the queue deletes a model that the local copy does not have`() async throws {
    let phone = try cloud.device("phone")
    try await save("a")
    try await phone.store.delete(Item(id: "a"), cascade: [.targets, .children])
    try await phone.sync()
    #expect(!isOnServer("a"))
  }

  @Test func `an app queues the deletion of a zone`() async throws {
    let phone = try cloud.device("phone")
    try await save("a; b")
    try await phone.sync()

    let accepted = [try await phone.store.deleteZone(zone), try await phone.store.deleteZone(zone)]
    #expect(accepted == [true, false])
    #expect(try await phone.store.all(Item.self).isEmpty)
    try await phone.sync()

    #expect(!isOnServer("a"))
    let lookup = await code { try await database.recordZone(for: zone) }
    #expect(lookup == .zoneNotFound)
    await #expect(throws: StoreError.self) { _ = try await phone.store.deleteZone(.default) }
  }
}
