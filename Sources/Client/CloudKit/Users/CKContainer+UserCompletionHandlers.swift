// These methods call their `async` counterparts and call the handler once, on an unspecified thread.

extension CKContainer {
  /// Finds a user by email address and calls the handler.
  @preconcurrency
  public func discoverUserIdentity(
    withEmailAddress email: String,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    settings.callBack({ identity, error in completionHandler(identity ?? nil, error) }) {
      try await self.userIdentity(forEmailAddress: email)
    }
  }

  /// Finds a user by phone number and calls the handler.
  @preconcurrency
  public func discoverUserIdentity(
    withPhoneNumber phoneNumber: String,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    settings.callBack({ identity, error in completionHandler(identity ?? nil, error) }) {
      try await self.userIdentity(forPhoneNumber: phoneNumber)
    }
  }

  /// Finds a user by user record and calls the handler.
  @preconcurrency
  public func discoverUserIdentity(
    withUserRecordID userRecordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
  ) {
    settings.callBack({ identity, error in completionHandler(identity ?? nil, error) }) {
      try await self.userIdentity(forUserRecordID: userRecordID)
    }
  }

  /// Finds users by email address and calls the handler.
  @preconcurrency
  public func discoverUserIdentities(
    forEmailAddresses emails: [String],
    completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.userIdentities(forEmailAddresses: emails) }
  }

  /// Finds users by phone number and calls the handler.
  @preconcurrency
  public func discoverUserIdentities(
    forPhoneNumbers phoneNumbers: [String],
    completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.userIdentities(forPhoneNumbers: phoneNumbers) }
  }

  /// Finds users by user record and calls the handler.
  @preconcurrency
  public func discoverUserIdentities(
    forUserRecordIDs userRecordIDs: [CKRecord.ID],
    completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.userIdentities(forUserRecordIDs: userRecordIDs) }
  }

  /// Finds the user's contacts who use the app and calls the handler.
  @preconcurrency
  public func discoverAllIdentities(
    completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.allUserIdentitiesFromContacts() }
  }

  /// Returns the user's decision about a permission through the handler.
  @preconcurrency
  public func status(
    forApplicationPermission applicationPermission: ApplicationPermissions,
    completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  ) {
    settings.callBack({ status, error in completionHandler(status ?? .couldNotComplete, error) }) {
      try await self.applicationPermissionStatus(for: applicationPermission)
    }
  }

  /// Does the same as `status(forApplicationPermission:completionHandler:)`, because users are asked only on the
  /// sign-in page.
  @preconcurrency
  public func requestApplicationPermission(
    _ applicationPermission: ApplicationPermissions,
    completionHandler: @escaping @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void
  ) {
    status(forApplicationPermission: applicationPermission, completionHandler: completionHandler)
  }
}
