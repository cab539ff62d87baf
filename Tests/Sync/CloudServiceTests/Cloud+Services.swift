import CloudKit
import CloudService
import CloudSupport
import CloudSync
import Observation

extension Cloud {
  /// A service of a store. Of two with one store, one syncs for both.
  @MainActor
  func service(
    _ name: String = "mine",
    user: String = "ana",
    container: String = Cloud.identifier,
    delegate: (any SyncEngineDelegate)? = nil,
    isReadOnly: Bool = false,
    _ change: (inout SyncEngine.Configuration) -> Void = { _ in },
    beforeEachRequest probe: (@Sendable () -> Void)? = nil
  ) throws -> CloudKitService {
    var configuration = try SyncEngine.Configuration(
      container: self.container(
        of: user,
        named: container,
        over: probe.map { ProbedTransport(inner: requests, probe: $0) }
      ),
      storePath: path("\(name).sqlite")
    )
    change(&configuration)
    return try CloudKitService(configuration, delegate: delegate, isReadOnly: isReadOnly)
  }

  var zone: CKRecordZone.ID { CKRecordZone.ID(zoneName: "notes") }

  func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zone) }

  func note(_ name: String, _ text: String = "x") -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: id(name))
    record["text"] = text
    return record
  }
}

/// Calls a probe before each request that it passes on.
private struct ProbedTransport: CKTransport {
  let inner: any CKTransport
  let probe: @Sendable () -> Void

  var assetTransport: any CKAssetTransport { inner.assetTransport }

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
