import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import Testing

/// The order in which the requests of one call reach the server.
struct OrderTests {
  /// Notes the record names of each request, in the order of the replies.
  private final class Order: CKTransport {
    private let base: any CKTransport
    private let places = Mutex<(count: Int, names: [String: Int])>((0, [:]))

    init(_ base: any CKTransport) { self.base = base }

    var names: [String: Int] { places.withLock { $0.names } }

    func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
      let body = (try? JSONSerialization.jsonObject(with: request.body)) as? [String: Any]
      let operations = body?["operations"] as? [[String: Any]] ?? []
      let names = operations.compactMap { ($0["record"] as? [String: Any])?["recordName"] as? String }
      let response = try await base.send(request)
      places.withLock { places in
        places.count += 1
        for name in names { places.names[name] = places.count }
      }
      return response
    }
  }

  private let zone = CKRecordZone.ID(zoneName: "notes")

  private func note(_ name: String, _ parent: CKRecord? = nil) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record.setParent(parent)
    return record
  }

  /// Saves records and returns the place of the request of each.
  private func places(saving records: [CKRecord]) async throws -> [String: Int] {
    let order = Order(EmulatorTransport(try Emulator()))
    let credential = CKCredential.webAuth(apiToken: "token", webAuthToken: "ana")
    let database = CKContainer(identifier: "iCloud.test", credential: credential, transport: order).privateCloudDatabase
    _ = try await database.save(CKRecordZone(zoneID: zone))
    let results = try await database.modifyRecords(saving: records, deleting: [], atomically: false).saveResults
    #expect(results.count == records.count && results.values.allSatisfy { (try? $0.get()) != nil })
    return order.names
  }

  @Test func `children before their parents in one call are saved after them`() async throws {
    let parents = (0..<250).map { note("p\($0)") }
    let children = (0..<450).map { note("c\($0)", parents[$0 % 250]) }
    let places = try await places(saving: children + parents)
    for child in children {
      let parent = try #require(places[child.parent?.recordID.recordName ?? ""])
      #expect(try #require(places[child.recordID.recordName]) >= parent)
    }
  }

  @Test func `a tree that the caller's order splits over requests reaches the server from its root`() async throws {
    let root = note("root")
    let folder = note("folder", root)
    let leaves = (0..<299).map { note("leaf\($0)", folder) }
    let places = try await places(saving: [root] + leaves + [folder])
    let top = try #require(places["folder"])
    #expect(try #require(places["root"]) <= top)
    for leaf in leaves { #expect(try #require(places[leaf.recordID.recordName]) >= top) }
  }
}
