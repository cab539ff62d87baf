import CloudSync
import Synchronization

extension Session {
  /// Masks this process's secrets: the configured tokens, and the web auth token that is kept beside the store.
  var redaction: Redaction {
    var secrets = [settings.apiToken?.value, settings.webAuthToken?.value].compactMap { $0 }
    if let path = storePath, let configured = settings.webAuthToken?.value,
      let kept = KeptToken(storePath: path, configured: configured).read()
    {
      secrets.append(kept)
    }
    return Redaction(secrets)
  }

  /// Masks secrets on standard error from now on.
  func masksErrors() { OutputStream.redaction.withLock { $0 = { redaction } } }

  /// The store to read, with secrets masked in everything that is read.
  func reader() throws -> StoreReader { reader(try storeToRead()) }

  /// A store to read, with secrets masked, in which a full sync counts for as long as the settings say.
  func reader(_ store: SyncStore) -> StoreReader { StoreReader(store, redaction, freshFor: settings.freshFor) }
}
