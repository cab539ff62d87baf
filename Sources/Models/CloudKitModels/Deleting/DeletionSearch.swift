package import CloudKit
internal import Foundation

/// A record with its references, as far as a deletion needs them.
package struct LinkedRecord: Sendable {
  enum Kind {
    case parent, validate, deleteSelf, plain
  }

  let id: CKRecord.ID
  let type: CKRecord.RecordType
  /// The references to other records.
  let references: [(kind: Kind, target: CKRecord.ID)]

  package init(_ record: CKRecord) {
    (id, type) = (record.recordID, record.recordType)
    let fields = record.allKeys().sorted().flatMap { key -> [CKRecord.Reference] in
      switch record[key] {
      case let reference as CKRecord.Reference: [reference]
      case let list as NSArray: list.compactMap { $0 as? CKRecord.Reference }
      default: []
      }
    }
    let parent = record.parent.map { [(Kind.parent, $0.recordID)] } ?? []
    references = (parent + fields.map { (Kind($0), $0.recordID) }).filter { $0.1 != record.recordID }
  }
}

extension LinkedRecord.Kind {
  fileprivate init(_ reference: CKRecord.Reference) {
    switch reference.wireAction {
    case "VALIDATE": self = .validate
    case "DELETE_SELF": self = .deleteSelf
    default: self = .plain
    }
  }

  /// Whether the record is deleted with the target as its child.
  fileprivate var makesChild: Bool { self == .parent || self == .deleteSelf }
}

/// Finds the records that are deleted with others, level by level.
package struct DeletionSearch {
  private let cascade: CKCascade
  private var found: [CKRecord.ID: (record: LinkedRecord, reason: CKDeletionPlan.Reason)] = [:]
  /// The IDs of the records that were found, in that order.
  private var order: [CKRecord.ID] = []

  /// Returns the plan of a deletion.
  ///
  /// - Parameters:
  ///   - roots: The records to delete. Those that do not exist are left out, but not their children.
  ///   - records: Returns the records with these IDs that exist.
  ///   - zone: Returns all records of a zone.
  package static func plan(
    deleting roots: [CKRecord.ID],
    cascade: CKCascade,
    records: ([CKRecord.ID]) async throws -> [LinkedRecord],
    zone: (CKRecordZone.ID) async throws -> [LinkedRecord]
  ) async throws -> CKDeletionPlan {
    var search = DeletionSearch(cascade: cascade)
    var (known, children): ([CKRecord.ID: LinkedRecord], [CKRecord.ID: [CKRecord.ID]]) = ([:], [:])
    var (seen, zones): (Set<CKRecord.ID>, Set<CKRecordZone.ID>) = ([], [])
    var level = roots.filter { seen.insert($0).inserted }.map { ($0, CKDeletionPlan.Reason.requested) }
    while !level.isEmpty {
      try Task.checkCancellation()
      if cascade.contains(.children) {
        for (id, _) in level where zones.insert(id.zoneID).inserted {
          // Sorted, so that a plan is the same each time.
          for record in try await zone(id.zoneID).sorted(by: { $0.id.recordName < $1.id.recordName }) {
            known[record.id] = record
            for reference in record.references where reference.kind.makesChild {
              children[reference.target, default: []].append(record.id)
            }
          }
        }
      }
      for record in try await records(level.map(\.0).filter { !zones.contains($0.zoneID) }) {
        known[record.id] = record
      }
      var next: [(CKRecord.ID, CKDeletionPlan.Reason)] = []
      for (id, reason) in level {
        if let record = known[id] {
          search.add(record, reason)
          if cascade.contains(.targets) {
            for (kind, target) in record.references where kind != .parent && seen.insert(target).inserted {
              next.append((target, .target(of: id)))
            }
          }
        }
        // A record that is gone can have left children behind.
        for child in children[id] ?? [] where seen.insert(child).inserted { next.append((child, .child(of: id))) }
      }
      level = next
    }
    return search.plan
  }

  private init(cascade: CKCascade) { self.cascade = cascade }

  private mutating func add(_ record: LinkedRecord, _ reason: CKDeletionPlan.Reason) {
    found[record.id] = (record, reason)
    order.append(record.id)
  }

  private var plan: CKDeletionPlan {
    // The records to delete before a record.
    var before: [CKRecord.ID: [CKRecord.ID]] = [:]
    for id in order {
      for (kind, target) in found[id]?.record.references ?? [] where found[target] != nil {
        // The server would delete the record with its target, or refuse to delete the target first.
        if kind != .plain { before[target, default: []].append(id) }
        if kind == .plain, cascade.contains(.targets) { before[id, default: []].append(target) }
      }
    }
    var walk = GraphWalk { id in (before[id] ?? []).map { ($0, $0) } }
    for id in order { walk.visit(id) }
    return CKDeletionPlan(
      steps: walk.levels.map { level in
        level.compactMap { id in
          found[id].map { CKDeletionPlan.Record(recordID: id, recordType: $0.record.type, reason: $0.reason) }
        }
      }
    )
  }
}
