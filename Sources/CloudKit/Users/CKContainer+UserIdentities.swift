extension CKContainer {
  /// The user with an email address; nil where nobody has it or does not want to be found. Needs a signed-in user.
  public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
    try await userIdentities(forEmailAddresses: [email])[email]
  }

  /// The user with a telephone number; nil where nobody has it or does not want to be found. Needs a signed-in user.
  public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
    try await userIdentities(forPhoneNumbers: [phoneNumber])[phoneNumber]
  }

  /// The user with a user record; nil where there is none or they do not want to be found. Needs a signed-in user.
  public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
    try await userIdentities(forUserRecordIDs: [userRecordID])[userRecordID]
  }

  /// The users with email addresses, as far as they want to be found.
  public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
    try await identities(emails, by: CKUserIdentityLookupInfo.init(emailAddress:))
  }

  /// The users with telephone numbers, as far as they want to be found.
  public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
    try await identities(phoneNumbers, by: CKUserIdentityLookupInfo.init(phoneNumber:))
  }

  /// The users with user records, as far as they want to be found.
  public func userIdentities(
    forUserRecordIDs userRecordIDs: [CKRecord.ID]
  ) async throws -> [CKRecord.ID: CKUserIdentity] {
    try await identities(userRecordIDs, by: CKUserIdentityLookupInfo.init(userRecordID:))
  }

  /// Those of the user's contacts who use the app.
  ///
  /// Apple's servers document this call and answer it with an error of their own (HTTP 500), which is thrown.
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

  /// Users by what is known of them; those who are not found are left out. One request for every 200.
  func identities(
    for lookupInfos: [CKUserIdentityLookupInfo]
  ) async throws(CKError) -> [CKUserIdentityLookupInfo: CKUserIdentity] {
    var found: [CKUserIdentityLookupInfo: CKUserIdentity] = [:]
    for chunk in lookupInfos.chunks(of: CKDatabase.largestBatch) {
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
  /// Whether this is the user whom a lookup asks for. Answers repeat the lookup, but the server may spell it its own way:
  /// addresses have no case, numbers have spaces and hyphens.
  fileprivate func answers(_ lookup: WireLookupInfo) -> Bool {
    if let name = lookup.userRecordName { return userRecordName == name || lookupInfo?.userRecordName == name }
    if let email = lookup.emailAddress { return lookupInfo?.emailAddress?.lowercased() == email.lowercased() }
    guard let number = lookup.phoneNumber, let told = lookupInfo?.phoneNumber else { return false }
    return told.filter(\.isNumber) == number.filter(\.isNumber)
  }
}
