// Each of these makes the `async` call of the same meaning and calls its handler once, on a thread of its own choice.

extension CKContainer {
  /// Finds a user by an email address and calls back.
  @preconcurrency
  public func discoverUserIdentity(
    withEmailAddress email: String,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    settings.callBack({ identity, error in completionHandler(identity ?? nil, error) }) {
      try await self.userIdentity(forEmailAddress: email)
    }
  }

  /// Finds a user by a telephone number and calls back.
  @preconcurrency
  public func discoverUserIdentity(
    withPhoneNumber phoneNumber: String,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    settings.callBack({ identity, error in completionHandler(identity ?? nil, error) }) {
      try await self.userIdentity(forPhoneNumber: phoneNumber)
    }
  }

  /// Finds a user by their record and calls back.
  @preconcurrency
  public func discoverUserIdentity(
    withUserRecordID userRecordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    settings.callBack({ identity, error in completionHandler(identity ?? nil, error) }) {
      try await self.userIdentity(forUserRecordID: userRecordID)
    }
  }

  /// Finds users by email addresses and calls back.
  @preconcurrency
  public func discoverUserIdentities(
    forEmailAddresses emails: [String],
    completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.userIdentities(forEmailAddresses: emails) }
  }

  /// Finds users by telephone numbers and calls back.
  @preconcurrency
  public func discoverUserIdentities(
    forPhoneNumbers phoneNumbers: [String],
    completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.userIdentities(forPhoneNumbers: phoneNumbers) }
  }

  /// Finds users by their records and calls back.
  @preconcurrency
  public func discoverUserIdentities(
    forUserRecordIDs userRecordIDs: [CKRecord.ID],
    completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.userIdentities(forUserRecordIDs: userRecordIDs) }
  }

  /// Finds those of the user's contacts who use the app and calls back.
  @preconcurrency
  public func discoverAllIdentities(
    completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.allUserIdentitiesFromContacts() }
  }

  /// Tells what the user answered and calls back.
  @preconcurrency
  public func status(
    forApplicationPermission applicationPermission: ApplicationPermissions,
    completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  ) {
    settings.callBack({ status, error in completionHandler(status ?? .couldNotComplete, error) }) {
      try await self.applicationPermissionStatus(for: applicationPermission)
    }
  }

  /// Asks the user and calls back.
  @preconcurrency
  public func requestApplicationPermission(
    _ applicationPermission: ApplicationPermissions,
    completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  ) {
    status(forApplicationPermission: applicationPermission, completionHandler: completionHandler)
  }
}
