import CloudKit
import CloudSync
import Facts
import Foundation
import Synchronization

/// The settings of a command, with the store, client and engine that they name.
typealias Session = StoreSession<Settings>

extension Session {
  /// Reads the settings of this process: its options, its environment, its configuration file.
  init(_ options: StoreOptions, theme: String? = nil) throws(CommandFailure) {
    let environment = ProcessInfo.processInfo.environment
    var given = options.settings
    given[.theme] = theme
    self.init(try Settings(options: given, environment: environment, file: ConfigurationFile.read(environment)))
  }

  /// Masks secrets on standard error from now on.
  func masksErrors() { OutputFile.redaction.withLock { $0 = { redaction } } }

  /// Prints a notice if a change goes to the public database only by default: no setting, credential or earlier sync of
  /// the store names a database, and everyone can read the public one. An API token alone is no user's credential.
  func reportGuess(of store: SyncStore) {
    guard settings.database.source == .standard, store.scope.database == .public,
      let credential = try? settings.credential()
    else { return }
    let isSynced = SyncStore.owner(ofStoreAt: store.path) != nil
    switch credential {
    case .none where !(isSynced && settings.namesStore): break
    case .apiToken where !isSynced: break
    default: return
    }
    OutputFile.error.line(
      "cktop: no database is given, so the public one is used; give --database private to use the private one"
    )
  }

  /// Refuses a command with another conflict policy than the stored one.
  func refuseOtherPolicy(_ store: SyncStore) throws {
    let stored = try store.settings().policy
    guard let named = try settings.policy(), let stored, named.value != stored else { return }
    throw CommandFailure.usage(
      "\(named.source.place(of: .policy)) is '\(named.value.rawValue)', but the store has the conflict policy "
        + "'\(stored.rawValue)'; omit it, or replace the stored one with cktop sync --policy "
        + "\(named.value.rawValue) --set-policy"
    )
  }

  /// Throws if there is no policy to replace the stored one with.
  func requirePolicy() throws(CommandFailure) {
    if try settings.policy() == nil {
      throw .usage("--set-policy needs a policy to store; name one with --policy")
    }
  }
}
