// Each method runs the matching `async` call and calls its handler once, on a global dispatch queue.

extension CKContainer {
  /// Reports whether a user account is available; reports `couldNotDetermine` and an error when the request fails.
  @preconcurrency
  public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
    settings.callBack({ status, error in completionHandler(status ?? .couldNotDetermine, error) }) {
      try await self.accountStatus()
    }
  }

  /// Fetches the ID of the signed-in user's record and passes it, or an error, to the handler.
  @preconcurrency
  public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
    settings.callBack(completionHandler) { try await self.userRecordID() }
  }
}
