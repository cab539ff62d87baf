import JSONText

/// `records/resolve` and `records/accept` (reference 5.4). [D]
extension EmulatorCore {
  func resolveShares(_ call: Call) throws(ServerError) -> JSONObject {
    try shares(call) { (invitation) throws(ServerError) in invitation }
  }

  /// Makes the caller a participant. Accepting again has no effect. [E]
  func acceptShares(_ call: Call) throws(ServerError) -> JSONObject {
    try shares(call) { [self] (invitation) throws(ServerError) in
      guard let user = call.caller.recordName, user != invitation.place.zone.owner,
        invitation.sharing.participant(user)?.hasAccepted != true
      else { return invitation }
      try accept(invitation, user, call)
      guard let accepted = self.invitation(to: invitation.guid, call) else { throw Self.noShare }
      return accepted
    }
  }

  /// A share that a caller looks up by its short GUID.
  private struct Invitation {
    var guid: String
    var place: Place
    var record: StoredRecord
    var sharing: ShareState
    /// The caller's participant entry, existing or potential.
    var participant: ShareParticipant
  }

  private static let noShare = ServerError(.notFound, "Share not found")

  private var uninvited: ServerError {
    configuration.assumptions.uninvited == .notFound ? Self.noShare : ServerError(.accessDenied, "Not invited")
  }

  private func shares(
    _ call: Call,
    _ act: (Invitation) throws(ServerError) -> Invitation
  ) throws(ServerError) -> JSONObject {
    // Server-to-server keys cannot use sharing. [E]
    if case .server = call.caller { throw ServerError(.authenticationFailed, "Authentication failed") }
    var results: [JSON] = []
    for item in try items("shortGUIDs", of: call.body) {
      do throws(ServerError) {
        // Users who are not invited cannot tell whether the share exists. [E] (Question 19)
        guard let guid = item["value"]?.string, let found = invitation(to: guid, call) else { throw uninvited }
        results.append(.object(result(try act(found), item, call)))
      } catch {
        results.append(.object(error.members(after: ["shortGUID": .object(item)])))
      }
    }
    return ["results": .array(results)]
  }

  private func invitation(to guid: String, _ call: Call) -> Invitation? {
    for key in sharedZones where key.database.schema == call.route.schema {
      guard let database = databases[key.database], let zone = database.zones[key.zone] else { continue }
      for name in zone.shares {
        guard let record = zone.records[name], record.content.shortGUID == guid, let sharing = record.content.sharing,
          let participant = participant(call.caller, of: sharing, record)
        else { continue }
        let place = Place(database: database, zone: zone)
        return Invitation(guid: guid, place: place, record: record, sharing: sharing, participant: participant)
      }
    }
    return nil
  }

  private func participant(_ caller: Caller, of sharing: ShareState, _ record: StoredRecord) -> ShareParticipant? {
    let person = caller.recordName.flatMap { self.user(recordName: $0) }
    for one in sharing.participants {
      guard let person else { break }
      if one.userRecordName == person.recordName { return one }
      if one.userRecordName == nil, person.matches(one.lookupInfo) { return one }
    }
    // Anyone with the URL of a public share may join. [FW]
    guard sharing.publicPermission != .none else { return nil }
    return ShareParticipant(
      id: Derived.uuid("\(record.name)/\(record.content.shortGUID ?? "")/\(person?.recordName ?? "")"),
      role: .publicUser,
      permission: sharing.publicPermission,
      hasAccepted: false,
      lookupInfo: person.map { ["userRecordName": JSON.string($0.recordName)] } ?? [:],
      userRecordName: person?.recordName
    )
  }

  /// Returns the invitations that may match the caller, with the address or number of each, if there are several. [D]
  /// Which ones the real service lists is unknown; here, those that match the caller's address or number. [E]
  private func potentialMatches(_ caller: Caller, _ sharing: ShareState) -> JSON? {
    guard let person = caller.recordName.flatMap({ user(recordName: $0) }) else { return nil }
    let matches = sharing.participants.filter { $0.userRecordName == nil && person.matches($0.lookupInfo) }
    guard matches.count > 1 else { return nil }
    return .array(
      matches.map { .object(["participantId": .string($0.id), "contactInformation": .object($0.lookupInfo)]) }
    )
  }

  private func accept(_ invitation: Invitation, _ user: String, _ call: Call) throws(ServerError) {
    let zone = invitation.place.zone
    let wasHere = SharedAccess(of: user, in: zone) != nil
    var content = invitation.record.content
    var participant = invitation.participant
    participant.hasAccepted = true
    participant.userRecordName = user
    if let index = content.sharing?.participants.firstIndex(where: { $0.id == participant.id }) {
      content.sharing?.participants[index] = participant
    } else {
      guard invitation.sharing.participants.count <= ShareState.participantLimit else {
        throw .badRequest("Too many participants")
      }
      content.sharing?.participants.append(participant)
    }
    content.sharing?.former.removeAll { $0 == user }
    let stamp = StoredRecord.Stamp(milliseconds: call.milliseconds, userRecordName: user)
    var writer = ZoneWriter(invitation.place.database, zone, stamp: stamp)
    writer.save(content)
    // A participant who already follows the zone would not receive records that have not changed since.
    if wasHere { writer.announce(share: content) }
    if let commit = writer.finish() { try self.commit(commit) }
  }

  private func result(_ invitation: Invitation, _ request: JSONObject, _ call: Call) -> JSONObject {
    let (place, participant) = (invitation.place, invitation.participant)
    var object: JSONObject = [
      "shortGUID": .object(request), "containerIdentifier": .string(call.route.container),
      "environment": .string(call.route.environment.uppercased()),
      "databaseScope": .string(participant.role == .owner ? "PRIVATE" : "SHARED"), "zoneID": place.zone.zoneID,
    ]
    object.append("rootRecordName", invitation.sharing.root.map { .string($0) })
    if request["shouldFetchRootRecord"]?.bool == true,
      let root = invitation.sharing.root.flatMap({ place.zone.records[$0] })
    {
      object.append("rootRecord", json(root, in: place, keys: Self.names(request["rootRecordDesiredKeys"]), call))
    }
    object.append("share", json(invitation.record, in: place, keys: nil, call))
    if let owner = invitation.sharing.participants.first(where: { $0.role == .owner }) {
      object.append("ownerIdentity", .object(identity(of: owner)))
    }
    object.append("participantType", .string(participant.role.rawValue))
    object.append("participantPermission", .string(participant.permission.rawValue))
    object.append("participantStatus", .string(participant.status))
    object.append("potentialMatchList", potentialMatches(call.caller, invitation.sharing))
    return object
  }
}

extension ZoneWriter {
  /// Announces all records of a share.
  mutating func announce(share: StoredRecord.Content) {
    for name in zone.members(of: share.name, root: share.sharing?.root) {
      announce(name, left: zone.records[name]?.left)
    }
  }
}

extension ZoneState {
  /// Returns the names of the records in a share, without the share's own record.
  func members(of share: String, root: String?) -> [String] {
    guard let root else { return records.names(deleted: false).filter { $0 != share } }
    return ([root] + descendants(of: root)).filter { self.share(of: $0) == share }.sorted()
  }
}
