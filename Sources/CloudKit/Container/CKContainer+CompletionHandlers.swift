// Each of these makes the `async` call of the same meaning and calls its handler once, on a thread of its own choice.

extension CKContainer {
  /// Calls back with whether there is a user to work as; with `couldNotDetermine` where the server could not be asked.
  @preconcurrency
  public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
    settings.callBack({ status, error in completionHandler(status ?? .couldNotDetermine, error) }) {
      try await self.accountStatus()
    }
  }

  /// Calls back with the signed-in user's record, or with why it is not known.
  @preconcurrency
  public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
    settings.callBack(completionHandler) { try await self.userRecordID() }
  }
}
