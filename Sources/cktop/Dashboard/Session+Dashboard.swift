import CloudService
import CloudSync
import Foundation

/// How the dashboard opens its store: to look at it, until something else is asked for.
extension Session {
  /// The three ways to the store. Looking neither makes nor changes nor claims anything; a sync makes the store.
  func opening() -> StoreOpening {
    StoreOpening(
      toRead: { try storeIfMade() },
      toChange: { try storeToCommand() },
      toSync: {
        // Without a credential no store is made.
        _ = try client(scope())
        return try engine(try await storeToChange(toSync: true))
      }
    )
  }
}
