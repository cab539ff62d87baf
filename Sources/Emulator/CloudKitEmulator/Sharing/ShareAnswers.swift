import JSONText

/// The sharing keys of responses (reference 2.4, 2.6). [D]
extension Endpoint {
  /// Returns the keys that sharing adds to a record's dictionary.
  func sharingMembers(of record: StoredRecord, in zone: ZoneState) -> JSONObject {
    var object = JSONObject()
    // In a zone that is shared as a whole, every record has the key. [E]
    let share =
      record.content.share ?? (zone.zoneShare != nil && record.content.sharing == nil ? StoredShare.zoneShareName : nil)
    if let share { object.append("share", .object(["recordName": .string(share), "zoneID": zone.zoneID])) }
    guard let sharing = record.content.sharing else { return object }
    object.append("publicPermission", .string(sharing.publicPermission.rawValue))
    object.append("participants", .array(sharing.participants.map { .object(participant($0)) }))
    if let owner = sharing.participants.first(where: { $0.role == .owner }) {
      object.append("owner", .object(participant(owner)))
    }
    if let own = sharing.participant(user) {
      object.append("currentUserParticipant", .object(participant(own)))
    }
    return object
  }

  private func participant(_ one: ShareParticipant) -> JSONObject {
    // The participant ID was observed on first-party hosts. [L1]
    [
      "participantId": .string(one.id), "type": .string(one.role.rawValue),
      "permission": .string(one.permission.rawValue),
      "acceptanceStatus": .string(one.status), "userIdentity": .object(world.identity(of: one)),
    ]
  }
}

extension World {
  /// Returns the identity dictionary of a participant, who may be no user yet.
  func identity(of one: ShareParticipant) -> JSONObject {
    if let user = one.userRecordName.flatMap({ user(recordName: $0) }) {
      return user.identity(lookupInfo: one.lookupInfo.members.isEmpty ? nil : one.lookupInfo)
    }
    var object = JSONObject()
    object.append("userRecordName", one.userRecordName.map { .string($0) })
    object.append("lookupInfo", .object(one.lookupInfo))
    return object
  }
}

extension StoredShare {
  /// Returns the entry of a user; `nil` for an anonymous caller, whose record name is empty.
  func participant(_ user: String) -> ShareParticipant? {
    user.isEmpty ? nil : participants.first { $0.userRecordName == user }
  }
}

extension ShareParticipant {
  /// The acceptance status. `INVITED` is the documented value; some clients call it `PENDING`. [D]
  var status: String { hasAccepted ? "ACCEPTED" : "INVITED" }
}
