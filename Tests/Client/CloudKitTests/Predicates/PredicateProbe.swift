import Foundation

@testable import CloudKit

/// The filters that a predicate becomes in a query.
func filters(_ predicate: NSPredicate, zoneID: CKRecordZone.ID = .default) throws -> [WireFilter] {
  try CKQuery(recordType: "Note", predicate: predicate).wire(zoneID: zoneID).filterBy
}

/// What a query says that cannot use the predicate; nil where it can.
func refusal(_ predicate: NSPredicate) -> String? {
  do {
    _ = try filters(predicate)
    return nil
  } catch {
    return (error as? CKError)?.code == .invalidArguments ? (error as? CKError)?.localizedDescription : "\(error)"
  }
}
