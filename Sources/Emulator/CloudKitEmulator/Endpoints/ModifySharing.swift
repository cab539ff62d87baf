import CloudKitSchema
import JSONText

/// Shares in `records/modify` (reference 5.3), and the write access of their participants. [D]
extension ModifyBatch {
  /// Applies the sharing keys of an operation to a share record.
  func applyShare(
    _ json: JSONObject,
    to content: inout StoredRecord.Content,
    over old: StoredRecord?
  ) throws(ServerError) {
    guard view.access == nil else { throw CKSchema.Permission.write.refusal }
    // [D]
    guard guards == nil, zone.isCustom else { throw .badRequest("Only records of custom zones can be shared") }
    let reader = ShareReader(
      user: { endpoint.user($0)?.recordName },
      owner: zone.owner,
      origin: "\(zone.identity)/\(content.name)"
    )
    // Sharing is not a field, so replacing all fields does not change it. [E]
    var share: StoredShare
    if let known = old?.content.sharing {
      share = known
      content.shortGUID = old?.content.shortGUID
    } else {
      let root = content.name == StoredShare.zoneShareName ? nil : try sharedRoot(json)
      if root == nil, !zone.shares.isEmpty || zone.zoneShare != nil {
        throw .badRequest("Records of the zone are already shared")
      }
      share = reader.new(root: root?.name)
      content.shortGUID = root?.content.shortGUID ?? Self.shortGUID(root?.name ?? content.name, in: zone)
    }
    try reader.apply(json, to: &share)
    content.sharing = share
  }

  /// Returns the root record of a new share. It must already be saved, and the request must have its current change
  /// tag. [D]
  private func sharedRoot(_ json: JSONObject) throws(ServerError) -> StoredRecord {
    guard let root = json["forRecord"]?.object, let name = root["recordName"]?.string,
      let record = endpoint.record(name, in: view)
    else {
      throw Self.noRoot
    }
    guard let tag = root["recordChangeTag"]?.string else { throw .badRequest("Missing 'recordChangeTag' of the root") }
    guard tag == record.tag else { throw Self.conflict }
    guard zone.zoneShare == nil, zone.share(of: name) == nil, record.type != CKSchema.usersType else {
      throw .badRequest("The record is already shared")
    }
    return record
  }

  /// Observed reason; the code is a guess. [L3]
  static let noRoot = ServerError(.badRequest, "Cannot share - no such record exists to share")

  /// Returns the short GUID of a record. Short GUIDs are opaque. [D]
  static func shortGUID(_ name: String, in zone: ZoneState) -> String {
    String(Derived.hexadecimal("\(zone.identity)/\(name)").prefix(22))
  }

  /// Fails operations that are invalid in the batch as a whole: shares of roots that the batch deletes or shares twice,
  /// and writes of a participant to records that the participant may not write afterwards. [E]
  mutating func settleSharing() {
    let deleted = Set(steps.compactMap { step in if case .success(.delete) = step.outcome { step.name } else { nil } })
    var roots: Set<String> = []
    var saves: [String: StoredRecord.Content] = [:]
    for index in steps.indices {
      guard case .success(.save(let content, let previous, _)) = steps[index].outcome else { continue }
      saves[content.name] = content
      guard previous == nil, let root = content.sharing?.root else { continue }
      if deleted.contains(root) || !roots.insert(root).inserted { steps[index].outcome = .failure(Self.noRoot) }
    }
    guard let access = view.access else { return }
    for index in steps.indices {
      guard case .success(.save(let content, let previous, _)) = steps[index].outcome else { continue }
      let share = Hierarchy.share(of: content.name) { name in
        deleted.contains(name) ? nil : saves[name] ?? zone.records[name]?.content
      }
      guard access.permission(in: share) != .readWrite else { continue }
      let word = previous == nil ? "CREATE" : "WRITE"
      steps[index].outcome = .failure(ServerError(.accessDenied, "\(word) operation not permitted"))
    }
  }
}

extension ZoneWriter {
  /// Updates the roots of changed shares: a new share marks its root, deleting a share unmarks its root, and deleting a
  /// root deletes its share. [E]
  mutating func followShares() {
    for content in saved.values.map(\.content).sorted(by: { $0.name < $1.name })
    where buried[content.name] == nil {
      guard let name = content.sharing?.root, var root = self.content(name), root.share != content.name else {
        continue
      }
      root.share = content.name
      root.shortGUID = content.shortGUID
      save(root)
    }
    for name in buried.keys.sorted() {
      guard let old = zone.records[name]?.content else { continue }
      if let share = old.share { bury(share) }
      guard let rootName = old.sharing?.root, var root = content(rootName), root.share == name else { continue }
      root.share = nil
      save(root)
    }
    // Users who leave one share and remain in another of the zone learn of it from the zone's change feed.
    for record in saved.values.sorted(by: { $0.name < $1.name }) {
      guard let old = zone.records[record.name]?.content.sharing, let new = record.content.sharing,
        new.former.contains(where: { !old.former.contains($0) })
      else { continue }
      announce(share: record.content)
    }
  }
}
