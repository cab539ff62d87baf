import CloudKit
import CloudKitEmulator
import Foundation
import Testing

/// The order in which the requests of one call reach the server.
struct OrderTests {
  private func notes(_ count: Int, _ prefix: String) -> [CKRecord] {
    (0..<count).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\(prefix)\($0)", zoneID: zone)) }
  }

  private let zone = CKRecordZone.ID(zoneName: "notes")

  @Test func `children before their parents in one call are saved all the same`() async throws {
    let (parents, children) = (notes(250, "p"), notes(450, "c"))
    for (index, child) in children.enumerated() { child.setParent(parents[index % 250]) }
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: EmulatorTransport(try Emulator(), now: { Date() })
    )
    _ = try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zone))

    let results = try await container.privateCloudDatabase
      .modifyRecords(saving: children + parents, deleting: [], atomically: false).saveResults

    #expect(results.count == 700)
    #expect(results.values.allSatisfy { (try? $0.get()) != nil })
  }
}
