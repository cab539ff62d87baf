/// What a record carries about sharing besides its fields: the keys of a share, and those with which one is asked for
/// (reference 2.3, 2.4, 2.6). They lie flat among the other keys of the record.
package struct WireSharing: Hashable, Sendable, Codable {
  /// `NONE`, `READ_ONLY`, `READ_WRITE`, or `UNKNOWN`; shares only.
  package var publicPermission: String?
  /// Everybody who takes part, the owner too; shares only.
  package var participants: [WireParticipant]?
  /// Who owns the share; answers only.
  package var owner: WireParticipant?
  /// The caller among the participants; answers only.
  package var currentUserParticipant: WireParticipant?
  /// The root that a new share is for; requests only.
  package var forRecord: WireShareRoot?
  /// Asks for the short GUID that a share's URL is made of; requests only.
  package var createShortGUID: Bool?

  package init() {}

  /// What the root of a share says for itself.
  package static var askingForShortGUID: WireSharing {
    var sharing = WireSharing()
    sharing.createShortGUID = true
    return sharing
  }

  /// Whether nothing is said about sharing.
  package var isEmpty: Bool { self == WireSharing() }
}

/// The saved root of a hierarchy, in the version that a share is made for.
package struct WireShareRoot: Hashable, Sendable, Codable {
  package var recordName: String
  package var recordChangeTag: String

  package init(recordName: String, recordChangeTag: String) {
    self.recordName = recordName
    self.recordChangeTag = recordChangeTag
  }
}

/// One who takes part in a share. Words are kept as sent: the server has more of them than are documented.
package struct WireParticipant: Hashable, Sendable, Codable {
  package var participantId: String?
  /// `OWNER`, `ADMINISTRATOR`, `USER`, `PUBLIC_USER`, `UNKNOWN`.
  package var type: String?
  /// `NONE`, `READ_ONLY`, `READ_WRITE`, `UNKNOWN`.
  package var permission: String?
  /// `INVITED` (also spelt `PENDING`), `ACCEPTED`, `REMOVED`, `UNKNOWN`.
  package var acceptanceStatus: String?
  package var userIdentity: WireUserIdentity?

  package init() {}
}

/// Somebody, as far as the server tells.
package struct WireUserIdentity: Hashable, Sendable, Codable {
  package var userRecordName: String?
  package var lookupInfo: WireLookupInfo?
  package var nameComponents: WireNameComponents?

  package init() {}
}

/// How somebody is found: exactly one of the three.
package struct WireLookupInfo: Hashable, Sendable, Codable {
  package var emailAddress: String?
  package var phoneNumber: String?
  package var userRecordName: String?

  package init() {}
}

/// The parts of a name.
package struct WireNameComponents: Hashable, Sendable, Codable {
  package var namePrefix: String?
  package var givenName: String?
  package var middleName: String?
  package var familyName: String?
  package var nameSuffix: String?
  package var nickname: String?

  package init() {}
}
