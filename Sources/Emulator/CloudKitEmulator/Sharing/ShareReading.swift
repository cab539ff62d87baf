import JSONText

/// Applies a request's description of a share.
struct ShareReader {
  /// Finds the record name of the user that a lookup info identifies, if the emulator knows one.
  let user: (JSONObject) -> String?
  /// The owner's record name.
  let owner: String
  /// A string unique to the share, from which participant IDs are made.
  let origin: String

  /// Returns a share whose only participant is its owner.
  func new(root: String?) -> StoredShare {
    let owner = ShareParticipant(
      id: Derived.uuid("\(origin)/owner"),
      role: .owner,
      permission: .readWrite,
      hasAccepted: true,
      lookupInfo: ["userRecordName": .string(owner)],
      userRecordName: owner
    )
    return StoredShare(root: root, participants: [owner])
  }

  /// Updates a share from a request. Existing participants keep their status, because a user cannot accept for another
  /// user. Participants that the request omits are removed. [E]
  func apply(_ json: JSONObject, to share: inout StoredShare) throws(ServerError) {
    if let word = json["publicPermission"]?.string {
      guard let permission = SharePermission(rawValue: word) else { throw .badRequest("Unknown 'publicPermission'") }
      share.publicPermission = permission
    }
    if let list = json["participants"]?.array { try apply(list, to: &share) }
    for index in share.participants.indices where share.participants[index].role == .publicUser {
      share.participants[index].permission = share.publicPermission
    }
    if share.publicPermission == .none {
      for one in share.participants where one.role == .publicUser { one.userRecordName.map { share.remove($0) } }
    }
  }

  private func apply(_ list: [JSON], to share: inout StoredShare) throws(ServerError) {
    guard list.count <= StoredShare.participantLimit + 1 else { throw .badRequest("Too many participants") }
    var participants = share.participants.filter { $0.role == .owner }
    for element in list {
      guard let object = element.object else { throw .badRequest("Unexpected input in 'participants'") }
      guard object["type"]?.string != "OWNER", object["acceptanceStatus"]?.string != "REMOVED" else { continue }
      let new = try participant(object, among: share.participants)
      // Listing the owner as a participant has no effect. [E]
      guard !participants.contains(where: { $0.isSamePerson(as: new) }) else { continue }
      participants.append(new)
    }
    let gone = share.participants.filter { old in !participants.contains { $0.id == old.id } }
    for one in gone { one.userRecordName.map { share.remove($0) } }
    share.participants = participants
  }

  private func participant(
    _ object: JSONObject,
    among known: [ShareParticipant]
  ) throws(ServerError) -> ShareParticipant {
    let identity = object["userIdentity"]?.object
    var info = identity?["lookupInfo"]?.object ?? [:]
    if info.members.isEmpty { info.append("userRecordName", identity?["userRecordName"]) }
    let id = object["participantId"]?.string
    let user = identity?["userRecordName"]?.string ?? user(info)
    let old = known.first {
      $0.id == id || ($0.userRecordName != nil && $0.userRecordName == user) || $0.lookupInfo == info
    }
    guard old != nil || !info.members.isEmpty else { throw .badRequest("A participant needs a 'lookupInfo'") }
    guard let role = ShareParticipant.Role(rawValue: object["type"]?.string ?? old?.role.rawValue ?? "USER") else {
      throw .badRequest("Unknown 'type' of a participant")
    }
    // An invitation without a permission is read-only. [E]
    let word = object["permission"]?.string ?? old?.permission.rawValue ?? SharePermission.readOnly.rawValue
    guard let permission = SharePermission(rawValue: word) else {
      throw .badRequest("Unknown 'permission' of a participant")
    }
    return ShareParticipant(
      id: old?.id ?? Derived.uuid("\(origin)/\(JSON.object(info).text)"),
      role: role == .owner ? .user : role,
      permission: permission,
      hasAccepted: old?.hasAccepted ?? false,
      lookupInfo: old?.lookupInfo ?? info,
      userRecordName: old?.userRecordName ?? user
    )
  }
}

extension ShareParticipant {
  func isSamePerson(as other: ShareParticipant) -> Bool {
    id == other.id || (userRecordName != nil && userRecordName == other.userRecordName)
      || lookupInfo == other.lookupInfo
  }
}
