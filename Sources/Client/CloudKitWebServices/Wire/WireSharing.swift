package import JSONText

/// The sharing keys of a record: those of a share, and those that request a share (reference 2.3, 2.4, 2.6). They are
/// on the same level as the other keys of the record.
package struct WireSharing: Hashable, Sendable, WireObject {
  /// `NONE`, `READ_ONLY`, `READ_WRITE`, or `UNKNOWN`; shares only.
  package var publicPermission: String?
  /// The participants, including the owner; shares only.
  package var participants: [WireParticipant]?
  /// The owner of the share; replies only.
  package var owner: WireParticipant?
  /// The caller's participant; replies only.
  package var currentUserParticipant: WireParticipant?
  /// The root of a new share; requests only.
  package var forRecord: WireShareRoot?
  /// Requests the short GUID that a share's URL consists of; requests only.
  package var createShortGUID: Bool?

  package init() {}

  /// The keys that request a short GUID for the root of a share.
  package static var askingForShortGUID: WireSharing {
    var sharing = WireSharing()
    sharing.createShortGUID = true
    return sharing
  }

  /// Whether no sharing key is set.
  package var isEmpty: Bool { self == WireSharing() }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("createShortGUID", &createShortGUID)
    try json("currentUserParticipant", &currentUserParticipant)
    try json("forRecord", &forRecord)
    try json("owner", &owner)
    try json("participants", &participants)
    try json("publicPermission", &publicPermission)
  }
}

/// The saved root of a hierarchy, with the change tag that a share is created for.
package struct WireShareRoot: Hashable, Sendable, WireObject {
  package var recordName: String
  package var recordChangeTag: String

  package init(recordName: String, recordChangeTag: String) {
    self.recordName = recordName
    self.recordChangeTag = recordChangeTag
  }

  package init() { self.init(recordName: "", recordChangeTag: "") }

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("recordChangeTag", &recordChangeTag)
    try json("recordName", &recordName)
  }
}

/// A participant of a share. Names are kept as received, because the server uses more than are documented.
package struct WireParticipant: Hashable, Sendable, WireObject {
  package var participantId: String?
  /// `OWNER`, `ADMINISTRATOR`, `USER`, `PUBLIC_USER`, `UNKNOWN`.
  package var type: String?
  /// `NONE`, `READ_ONLY`, `READ_WRITE`, `UNKNOWN`.
  package var permission: String?
  /// `INVITED` (also `PENDING`), `ACCEPTED`, `REMOVED`, `UNKNOWN`.
  package var acceptanceStatus: String?
  package var userIdentity: WireUserIdentity?

  package init() {}

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("acceptanceStatus", &acceptanceStatus)
    try json("participantId", &participantId)
    try json("permission", &permission)
    try json("type", &type)
    try json("userIdentity", &userIdentity)
  }
}

/// A user, with what the server returns about them.
package struct WireUserIdentity: Hashable, Sendable, WireObject {
  package var userRecordName: String?
  package var lookupInfo: WireLookupInfo?
  package var nameComponents: WireNameComponents?

  package init() {}

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("lookupInfo", &lookupInfo)
    try json("nameComponents", &nameComponents)
    try json("userRecordName", &userRecordName)
  }
}

/// The information used to find a user. Exactly one value is set.
package struct WireLookupInfo: Hashable, Sendable, WireObject {
  package var emailAddress: String?
  package var phoneNumber: String?
  package var userRecordName: String?

  package init() {}

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("emailAddress", &emailAddress)
    try json("phoneNumber", &phoneNumber)
    try json("userRecordName", &userRecordName)
  }
}

/// The components of a person's name.
package struct WireNameComponents: Hashable, Sendable, WireObject {
  package var namePrefix: String?
  package var givenName: String?
  package var middleName: String?
  package var familyName: String?
  package var nameSuffix: String?
  package var nickname: String?

  package init() {}

  package mutating func members(_ json: inout some WireMembers) throws(JSONError) {
    try json("familyName", &familyName)
    try json("givenName", &givenName)
    try json("middleName", &middleName)
    try json("namePrefix", &namePrefix)
    try json("nameSuffix", &nameSuffix)
    try json("nickname", &nickname)
  }
}
