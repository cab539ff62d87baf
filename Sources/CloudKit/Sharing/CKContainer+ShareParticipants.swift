extension CKContainer {
  /// Somebody to be added to a share, by an email address. Needs a signed-in user.
  ///
  /// An address that the server does not know is no error: it is invited, and whoever accepts becomes known.
  public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
    try await shareParticipant(for: CKUserIdentityLookupInfo(emailAddress: emailAddress))
  }

  /// Somebody to be added to a share, by a telephone number. Needs a signed-in user.
  public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
    try await shareParticipant(for: CKUserIdentityLookupInfo(phoneNumber: phoneNumber))
  }

  /// Somebody to be added to a share, by their user record. Needs a signed-in user.
  public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
    try await shareParticipant(for: CKUserIdentityLookupInfo(userRecordID: userRecordID))
  }

  /// People to be added to a share, by their email addresses.
  public func shareParticipants(
    forEmailAddresses emails: [String]
  ) async throws -> [String: Result<CKShare.Participant, any Error>] {
    try await participants(emails, by: CKUserIdentityLookupInfo.init(emailAddress:))
  }

  /// People to be added to a share, by their telephone numbers.
  public func shareParticipants(
    forPhoneNumbers phoneNumbers: [String]
  ) async throws -> [String: Result<CKShare.Participant, any Error>] {
    try await participants(phoneNumbers, by: CKUserIdentityLookupInfo.init(phoneNumber:))
  }

  /// People to be added to a share, by their user records.
  public func shareParticipants(
    forUserRecordIDs userRecordIDs: [CKRecord.ID]
  ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
    try await participants(userRecordIDs, by: CKUserIdentityLookupInfo.init(userRecordID:))
  }

  /// People to be added to a share. Asking fails as a whole; nobody fails alone, since whoever the server does not show
  /// can be invited all the same.
  public func shareParticipants(
    for lookupInfos: [CKUserIdentity.LookupInfo]
  ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
    try await participants(lookupInfos) { $0 }
  }

  private func shareParticipant(for info: CKUserIdentityLookupInfo) async throws(CKError) -> CKShare.Participant {
    CKShareParticipant(inviting: info.identity(found: try await identities(for: [info])[info]))
  }

  private func participants<Key: Hashable>(
    _ keys: [Key],
    by lookup: (Key) -> CKUserIdentityLookupInfo
  ) async throws(CKError) -> [Key: Result<CKShare.Participant, any Error>] {
    let infos = keys.map(lookup)
    let found = try await identities(for: infos)
    let results = zip(keys, infos).map { key, info in
      (
        key,
        Result<CKShare.Participant, any Error>.success(CKShareParticipant(inviting: info.identity(found: found[info])))
      )
    }
    return Dictionary(results) { first, _ in first }
  }
}

extension CKUserIdentityLookupInfo {
  /// The identity that an invitation names: with the lookup in the caller's spelling.
  fileprivate func identity(found: CKUserIdentity?) -> WireUserIdentity {
    var identity = found?.wire ?? WireUserIdentity()
    identity.lookupInfo = wire
    return identity
  }
}
