extension CKContainer {
  /// Returns the user with an email address; nil if there is none or they are not discoverable. Requires a signed-in
  /// user.
  public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
    try await userIdentities(forEmailAddresses: [email])[email]
  }

  /// Returns the user with a phone number; nil if there is none or they are not discoverable. Requires a signed-in
  /// user.
  public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
    try await userIdentities(forPhoneNumbers: [phoneNumber])[phoneNumber]
  }

  /// Returns the user with a user record; nil if there is none or they are not discoverable. Requires a signed-in user.
  public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
    try await userIdentities(forUserRecordIDs: [userRecordID])[userRecordID]
  }

  /// Returns the discoverable users with the email addresses.
  public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
    try await identities(emails, by: CKUserIdentityLookupInfo.init(emailAddress:))
  }

  /// Returns the discoverable users with the phone numbers.
  public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
    try await identities(phoneNumbers, by: CKUserIdentityLookupInfo.init(phoneNumber:))
  }

  /// Returns the discoverable users with the user records.
  public func userIdentities(
    forUserRecordIDs userRecordIDs: [CKRecord.ID]
  ) async throws -> [CKRecord.ID: CKUserIdentity] {
    try await identities(userRecordIDs, by: CKUserIdentityLookupInfo.init(userRecordID:))
  }

  /// Returns the user's contacts who use the app.
  ///
  /// Apple documents this call, but its servers reply with an internal error (HTTP 500), which is thrown.
  public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
    let users = try await perform(.read) { client throws(WebServicesError) in try await client.discoverAllUsers() }
    return users.map(CKUserIdentity.init(wire:))
  }

  private func identities<Key: Hashable>(
    _ keys: [Key],
    by lookup: (Key) -> CKUserIdentityLookupInfo
  ) async throws(CKError) -> [Key: CKUserIdentity] {
    let infos = keys.map(lookup)
    let found = try await identities(for: infos)
    return Dictionary(zip(keys, infos).compactMap { key, info in found[info].map { (key, $0) } }) { first, _ in first }
  }

  /// Finds users by lookup info, with one request for every 200. Users who are not found are left out.
  func identities(
    for lookupInfos: [CKUserIdentityLookupInfo]
  ) async throws(CKError) -> [CKUserIdentityLookupInfo: CKUserIdentity] {
    var found: [CKUserIdentityLookupInfo: CKUserIdentity] = [:]
    for chunk in lookupInfos.requests {
      let users = try await perform(.read) { client throws(WebServicesError) in
        try await client.discoverUsers(chunk.map(\.wire))
      }
      for info in chunk {
        if let user = users.first(where: { $0.answers(info.wire) }) { found[info] = CKUserIdentity(wire: user) }
      }
    }
    return found
  }
}

extension WireUserIdentity {
  /// Whether this is the user of a lookup. Replies repeat the lookup, but the server may format it differently: email
  /// addresses are case-insensitive, and phone numbers contain spaces and hyphens.
  fileprivate func answers(_ lookup: WireLookupInfo) -> Bool {
    if let name = lookup.userRecordName { return userRecordName == name || lookupInfo?.userRecordName == name }
    if let email = lookup.emailAddress { return lookupInfo?.emailAddress?.lowercased() == email.lowercased() }
    guard let number = lookup.phoneNumber, let told = lookupInfo?.phoneNumber else { return false }
    return told.filter(\.isNumber) == number.filter(\.isNumber)
  }
}
