/// The words about sharing in answers (2.4, 2.6). [D]
extension EmulatorCore {
  /// What a record's dictionary says beyond what the record itself knows.
  func sharingMembers(of record: StoredRecord, in zone: ZoneState, for caller: Caller) -> JSONObject {
    var object = JSONObject()
    // In a zone that is shared as a whole, every record says so. [E]
    let share =
      record.content.share ?? (zone.zoneShare != nil && record.content.sharing == nil ? ShareState.zoneShareName : nil)
    if let share { object.append("share", .object(["recordName": .string(share), "zoneID": zone.zoneID])) }
    guard let sharing = record.content.sharing else { return object }
    object.append("publicPermission", .string(sharing.publicPermission.rawValue))
    object.append("participants", .array(sharing.participants.map { .object(participant($0)) }))
    if let owner = sharing.participants.first(where: { $0.role == .owner }) {
      object.append("owner", .object(participant(owner)))
    }
    if let own = sharing.participant(caller.recordName) {
      object.append("currentUserParticipant", .object(participant(own)))
    }
    return object
  }

  private func participant(_ one: ShareParticipant) -> JSONObject {
    // The identifier was seen on first-party hosts. [L1]
    [
      "participantId": .string(one.id), "type": .string(one.role.rawValue),
      "permission": .string(one.permission.rawValue),
      "acceptanceStatus": .string(one.status), "userIdentity": .object(identity(of: one)),
    ]
  }

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

extension ShareState {
  func participant(_ user: String?) -> ShareParticipant? {
    guard let user else { return nil }
    return participants.first { $0.userRecordName == user }
  }
}

extension ShareParticipant {
  /// `INVITED` is the documentation's word, which some clients call `PENDING`. [D]
  var status: String { hasAccepted ? "ACCEPTED" : "INVITED" }
}
