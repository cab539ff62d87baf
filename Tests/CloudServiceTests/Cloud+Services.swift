import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudService
import CloudSync
import Foundation
import Observation

/// A server and services, mostly of one user, each with a store of its own name.
@MainActor
final class Cloud {
  let emulator: Emulator
  private let folder: TemporaryFolder
  let zone = CKRecordZone.ID(zoneName: "notes")

  init() throws {
    emulator = try Emulator()
    folder = try TemporaryFolder()
  }

  /// A service of a store. Of two with one store, one syncs for both.
  func service(
    _ name: String = "mine",
    user: String = "ana",
    container: String = "iCloud.test",
    delegate: (any SyncEngineDelegate)? = nil,
    isReadOnly: Bool = false,
    _ change: (inout SyncEngine.Configuration) -> Void = { _ in },
    beforeEachRequest probe: (@Sendable () -> Void)? = nil
  ) throws -> CloudKitService {
    var transport: any CKTransport = EmulatorTransport(emulator)
    if let probe { transport = ProbedTransport(inner: transport, probe: probe) }
    var configuration = try SyncEngine.Configuration(
      container: self.container(of: user, transport, named: container),
      storePath: folder.path("\(name).sqlite")
    )
    change(&configuration)
    return try CloudKitService(configuration, delegate: delegate, isReadOnly: isReadOnly)
  }

  /// A container of a user; by default on the server without any detour.
  func container(
    of user: String,
    _ transport: (any CKTransport)? = nil,
    named identifier: String = "iCloud.test"
  ) -> CKContainer {
    CKContainer(
      identifier: identifier,
      credential: .webAuth(apiToken: "token", webAuthToken: user),
      transport: transport ?? EmulatorTransport(emulator)
    )
  }

  func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

  func note(_ name: String, _ text: String = "x") -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: id(name))
    record["text"] = text
    return record
  }

  /// Refuses each save of records of these names from now on, and no others.
  func refuse(_ names: String...) {
    emulator.faults = FaultPlan(rules: names.map { FaultRule(when: FaultCondition(recordName: $0), then: .poison) })
  }
}

/// The emulator, with a look at what goes on before each request.
private struct ProbedTransport: CKTransport {
  let inner: any CKTransport
  let probe: @Sendable () -> Void

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    probe()
    return try await inner.send(request)
  }
}

/// Waits for a fact that a service publishes, looking when something that it was read from changes.
@MainActor
func until(_ isTrue: @escaping @MainActor () -> Bool) async {
  while !Task.isCancelled {
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    let isDone = withObservationTracking(isTrue) { continuation.yield() }
    if isDone { return }
    for await _ in changes { break }
  }
}
