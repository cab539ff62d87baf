import CloudKit
import Foundation
import Testing

@Suite(.serialized) struct LoadTests {
  @Test(.timeLimit(.minutes(40)), arguments: [ContractRoute.inProcess, .http])
  func `a thousand loads at once all finish`(route: ContractRoute) async throws {
    try await route.run { container in
      let database = container.privateCloudDatabase
      let records = (0..<10).map { number in
        let record = CKRecord(recordType: "ContractNote", recordID: CKRecord.ID(recordName: "n\(number)"))
        record["number"] = number
        return record
      }
      _ = try await database.modifyRecords(saving: records, deleting: [])

      let sum = try await withThrowingTaskGroup(of: Int?.self) { group in
        for load in 0..<1000 {
          let id = records[load % records.count].recordID
          group.addTask { try await database.record(for: id)["number"] as? Int }
        }
        return try await group.reduce(0) { $0 + ($1 ?? -1) }
      }

      #expect(sum == 4500)
    }
  }
}
