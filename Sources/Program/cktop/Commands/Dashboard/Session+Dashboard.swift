import CloudService
import CloudSync
import Foundation

/// Opens the store for the dashboard: read-only until a command changes or syncs something.
extension Session {
  /// The three ways to open the store. Reading neither creates nor changes nor leases it; a sync creates it.
  func opening() -> StoreOpening {
    StoreOpening(
      toRead: { try storeIfMade() },
      toChange: { try storeToCommand() },
      toSync: {
        // Without a credential no store is created.
        _ = try client(scope())
        return try engine(try await storeToChange(toSync: true))
      },
      trouble: { storageTrouble }
    )
  }
}
