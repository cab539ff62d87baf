extension CKContainer {
  /// Returns a participant to add to a share, by email address. Requires a signed-in user.
  ///
  /// An address that the server does not know is not an error: it can be invited, and the person who accepts becomes
  /// known.
  public func shareParticipant(forEmailAddress emailAddress: String) async throws -> CKShare.Participant {
    try await shareParticipant(for: CKUserIdentityLookupInfo(emailAddress: emailAddress))
  }

  /// Returns a participant to add to a share, by phone number. Requires a signed-in user.
  public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
    try await shareParticipant(for: CKUserIdentityLookupInfo(phoneNumber: phoneNumber))
  }

  /// Returns a participant to add to a share, by user record. Requires a signed-in user.
  public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
    try await shareParticipant(for: CKUserIdentityLookupInfo(userRecordID: userRecordID))
  }

  /// Returns participants to add to a share, by email address.
  public func shareParticipants(
    forEmailAddresses emails: [String]
  ) async throws -> [String: Result<CKShare.Participant, any Error>] {
    try await participants(emails, by: CKUserIdentityLookupInfo.init(emailAddress:))
  }

  /// Returns participants to add to a share, by phone number.
  public func shareParticipants(
    forPhoneNumbers phoneNumbers: [String]
  ) async throws -> [String: Result<CKShare.Participant, any Error>] {
    try await participants(phoneNumbers, by: CKUserIdentityLookupInfo.init(phoneNumber:))
  }

  /// Returns participants to add to a share, by user record.
  public func shareParticipants(
    forUserRecordIDs userRecordIDs: [CKRecord.ID]
  ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
    try await participants(userRecordIDs, by: CKUserIdentityLookupInfo.init(userRecordID:))
  }

  /// Returns participants to add to a share. Only the whole request can fail, not a single lookup, because people whom
  /// the server does not return can be invited too.
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
  /// Returns the identity for an invitation, with the lookup info as the caller wrote it.
  fileprivate func identity(found: CKUserIdentity?) -> WireUserIdentity {
    var identity = found?.wire ?? WireUserIdentity()
    identity.lookupInfo = wire
    return identity
  }
}
