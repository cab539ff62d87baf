import CloudKit
import CloudSync
import Facts
import Foundation

extension Settings: StoreSettings {
  var basePath: String? { store?.value }
  var namesStore: Bool { store.map { $0.source != .standard } ?? false }
  var serverURL: URL { url.value }
  var serverPlace: String { url.source.place(of: .url) }
  var signInToken: String? { webAuthToken?.value }
  var secrets: [String] { [apiToken?.value, webAuthToken?.value].compactMap(\.self) }

  func scope(_ known: SyncStore.Scope?) throws(CommandFailure) -> SyncStore.Scope {
    func value<Value>(_ setting: Sourced<Value>, _ known: Value?) -> Value {
      setting.source == .standard ? known ?? setting.value : setting.value
    }
    let container: String =
      if let named = container?.value ?? known?.container { named } else { try requiredContainer() }
    return SyncStore.Scope(
      container: container,
      environment: value(Sourced(environment.value.rawValue, environment.source), known?.environment),
      database: value(database, known?.database)
    )
  }

  func namedPolicy() throws(CommandFailure) -> ConflictPolicy? { try policy()?.value }

  func refuseIfReadOnly() throws(CommandFailure) {
    guard isReadOnly.value else { return }
    let place = isReadOnly.source.place(of: .readOnly)
    throw .usage("read-only mode (\(place)) allows no changes; turn it off to continue")
  }

  /// The credential for the database. Throws a usage failure that names a missing part.
  ///
  /// If both kinds are configured, the key is used for the public database and the user's token for the others.
  func credential() throws(CommandFailure) -> SettingCredential {
    let isPublic = database.value == .public
    if let webAuthToken, !isPublic || (keyID == nil && keyFile == nil) {
      guard let apiToken else {
        throw CommandFailure("CLOUDKIT_WEB_AUTH_TOKEN needs an API token; set CLOUDKIT_API_TOKEN too", .usage)
      }
      return .webAuth(apiToken: apiToken.value, webAuthToken: webAuthToken.value)
    }
    switch (keyID, keyFile) {
    case (let keyID?, let keyFile?): return .serverToServer(keyID: keyID.value, keyFile: keyFile.value)
    case (.some, nil): throw .usage("a server-to-server key has an ID but no file; set CLOUDKIT_KEY_FILE too")
    case (nil, .some): throw .usage("a server-to-server key has a file but no ID; set CLOUDKIT_KEY_ID too")
    case (nil, nil): return apiToken.map { .apiToken($0.value) } ?? .none
    }
  }
}
