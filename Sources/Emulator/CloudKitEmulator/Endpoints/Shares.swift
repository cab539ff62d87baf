import JSONText

/// `records/resolve` and `records/accept` (reference 5.4). [D]
extension Endpoint {
  func resolveShares() throws(ServerError) -> [() -> Decision] {
    try decisions { [self] (invitation, item) in Decision { [self] in result(invitation, item) } }
  }

  /// Makes the caller a participant. Accepting again has no effect. [E]
  func acceptShares() throws(ServerError) -> [() -> Decision] {
    try decisions { [self] (invitation, item) throws(ServerError) in
      let isNew = user != invitation.view.zone.owner && invitation.sharing.participant(user)?.hasAccepted != true
      return Decision(commit: isNew ? try acceptance(of: invitation) : nil) { [self] () throws(ServerError) in
        result(try self.invitation(to: invitation.guid), item)
      }
    }
  }

  /// A share that a caller looks up by its short GUID.
  private struct Invitation {
    var guid: String
    var view: ZoneView
    var record: StoredRecord
    var sharing: StoredShare
    /// The caller's participant entry, existing or potential.
    var participant: ShareParticipant
  }

  /// Users who are not invited cannot tell whether the share exists. [E] (Question 19)
  private var uninvited: ServerError {
    assumptions.uninvited == .notFound
      ? ServerError(.notFound, "Share not found") : ServerError(.accessDenied, "Not invited")
  }

  private func decisions(
    _ decide: @escaping (Invitation, _ item: JSONObject) throws(ServerError) -> Decision
  ) throws(ServerError) -> [() -> Decision] {
    // Server-to-server keys cannot use sharing. [E]
    if case .server = call.caller { throw .unauthenticated }
    return try items("shortGUIDs").map { item in
      { [self] in
        .item(["shortGUID": .object(item)]) { () throws(ServerError) in
          guard let guid = item["value"]?.string else { throw uninvited }
          return try decide(try invitation(to: guid), item)
        }
      }
    }
  }

  private func invitation(to guid: String) throws(ServerError) -> Invitation {
    for key in world.sharedZones where key.database.schema == call.route.schema {
      guard let database = world.databases[key.database], let zone = database.zones[key.zone] else { continue }
      for name in zone.shares {
        guard let record = zone.records[name], record.content.shortGUID == guid, let sharing = record.content.sharing,
          let participant = participant(of: sharing, record)
        else { continue }
        let view = ZoneView(database: database, zone: zone)
        return Invitation(guid: guid, view: view, record: record, sharing: sharing, participant: participant)
      }
    }
    throw uninvited
  }

  private func participant(of sharing: StoredShare, _ record: StoredRecord) -> ShareParticipant? {
    let person = world.user(recordName: user)
    let known = sharing.participants.first { one in
      person.map { one.userRecordName == $0.recordName || one.userRecordName == nil && $0.matches(one.lookupInfo) }
        ?? false
    }
    if let known { return known }
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
  private func potentialMatches(_ sharing: StoredShare) -> JSON? {
    guard let person = world.user(recordName: user) else { return nil }
    let matches = sharing.participants.filter { $0.userRecordName == nil && person.matches($0.lookupInfo) }
    guard matches.count > 1 else { return nil }
    return .array(
      matches.map { .object(["participantId": .string($0.id), "contactInformation": .object($0.lookupInfo)]) }
    )
  }

  private func acceptance(of invitation: Invitation) throws(ServerError) -> Commit? {
    let zone = invitation.view.zone
    let wasHere = SharedAccess(of: user, in: zone) != nil
    var content = invitation.record.content
    var participant = invitation.participant
    participant.hasAccepted = true
    participant.userRecordName = user
    if let index = content.sharing?.participants.firstIndex(where: { $0.id == participant.id }) {
      content.sharing?.participants[index] = participant
    } else {
      guard invitation.sharing.participants.count <= StoredShare.participantLimit else {
        throw .badRequest("Too many participants")
      }
      content.sharing?.participants.append(participant)
    }
    content.sharing?.former.removeAll { $0 == user }
    let stamp = StoredRecord.Stamp(milliseconds: call.milliseconds, userRecordName: user)
    var writer = ZoneWriter(invitation.view.database, zone, stamp: stamp)
    writer.save(content)
    // A participant who already follows the zone would not receive records that have not changed since.
    if wasHere { writer.announce(share: content) }
    return writer.finish()
  }

  private func result(_ invitation: Invitation, _ request: JSONObject) -> JSONObject {
    let (view, participant, encoder) = (invitation.view, invitation.participant, encoder())
    var object: JSONObject = [
      "shortGUID": .object(request), "containerIdentifier": .string(call.route.container),
      "environment": .string(call.route.environment.uppercased()),
      "databaseScope": .string(participant.role == .owner ? "PRIVATE" : "SHARED"), "zoneID": view.zone.zoneID,
    ]
    object.append("rootRecordName", invitation.sharing.root.map { .string($0) })
    if request["shouldFetchRootRecord"]?.bool == true,
      let root = invitation.sharing.root.flatMap({ view.zone.records[$0] })
    {
      let keys = Self.names(request["rootRecordDesiredKeys"])
      object.append("rootRecord", .object(encoder.json(root, in: view, keys: keys)))
    }
    object.append("share", .object(encoder.json(invitation.record, in: view, keys: nil)))
    if let owner = invitation.sharing.participants.first(where: { $0.role == .owner }) {
      object.append("ownerIdentity", .object(world.identity(of: owner)))
    }
    object.append("participantType", .string(participant.role.rawValue))
    object.append("participantPermission", .string(participant.permission.rawValue))
    object.append("participantStatus", .string(participant.status))
    object.append("potentialMatchList", potentialMatches(invitation.sharing))
    return object
  }
}

extension ZoneWriter {
  /// Announces all records of a share.
  mutating func announce(share: StoredRecord.Content) {
    for name in zone.members(of: share.name, root: share.sharing?.root) {
      announce(name, formerShare: zone.records[name]?.formerShare)
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
