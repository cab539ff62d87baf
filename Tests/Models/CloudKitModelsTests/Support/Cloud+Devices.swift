import CloudKit
import CloudKitEmulator
import CloudSupport
import CloudSync

extension Cloud {
  func open(_ name: String) throws -> SyncStore {
    try SyncStore(path: path("\(name).sqlite"), containerIdentifier: Self.identifier, databaseScope: .private)
  }

  func device(_ name: String) throws -> (store: SyncStore, sync: () async throws -> Void) {
    let store = try open(name)
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: Self.identifier,
        environment: "development",
        credential: .webAuth(apiToken: "token", webAuthToken: "ana")
      ),
      transport: requests
    )
    let engine = SyncEngine(store: store, SyncEngine.Configuration(client: client))
    return (store, { _ = try await engine.syncOnce() })
  }

  func onServer(_ name: String, zone: String) -> [String: EmulatorValue]? {
    emulator.record(name, in: .private(of: "ana", Self.identifier), zone: zone)?.fields
  }
}

/// Returns the code of the error that a call throws; nil if it throws none.
func code<Value>(_ body: () async throws -> Value) async -> CKError.Code? {
  do {
    _ = try await body()
    return nil
  } catch {
    return (error as? CKError)?.code
  }
}
