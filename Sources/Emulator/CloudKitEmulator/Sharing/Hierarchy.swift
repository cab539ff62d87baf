/// Finds the share that a record belongs to: the share of its nearest ancestor that is a root. [D]
enum Hierarchy {
  /// The maximum number of ancestors. Longer chains are not followed, because they may be cycles. [E]
  static let depthLimit = 1000

  /// Returns the share of a record by walking up its ancestors. A share's own record belongs to itself.
  static func share(of name: String, in contents: (String) -> StoredRecord.Content?) -> String? {
    var next: String? = name
    for _ in 0..<depthLimit {
      guard let current = next, let content = contents(current) else { return nil }
      if content.sharing != nil { return content.name }
      if let share = content.share { return share }
      next = content.parent
    }
    return nil
  }
}

extension ZoneState {
  /// Returns the share that a record belongs to, without regard to a share of the whole zone.
  func share(of name: String) -> String? {
    shares.isEmpty ? nil : Hierarchy.share(of: name) { records[$0]?.content }
  }

  /// The share of the whole zone, if there is one.
  var zoneShare: StoredShare? { records[StoredShare.zoneShareName]?.content.sharing }

  /// Returns all descendants of a record.
  func descendants(of name: String) -> Set<String> {
    var found: Set<String> = []
    var open = [name]
    while let parent = open.popLast() {
      for child in children(of: parent) where found.insert(child).inserted { open.append(child) }
    }
    return found
  }
}

/// The access of one participant to another user's zone. [FW]
struct SharedAccess {
  let user: String
  /// The permissions by share.
  private let permissions: [String: SharePermission]
  private let former: Set<String>
  private let zone: ZoneState

  /// Fails for a user who participates in none of the zone's shares.
  init?(of user: String, in zone: ZoneState) {
    self.user = user
    self.zone = zone
    var permissions: [String: SharePermission] = [:]
    var former: Set<String> = []
    for name in zone.shares {
      guard let sharing = zone.records[name]?.content.sharing else { continue }
      permissions[name] = sharing.permission(of: user)
      if sharing.former.contains(user) { former.insert(name) }
    }
    guard !permissions.isEmpty else { return nil }
    self.permissions = permissions
    self.former = former
  }

  var shares: Set<String> { Set(permissions.keys) }

  /// Whether the user may write any records.
  var mayWrite: Bool { permissions.values.contains(.readWrite) }

  /// Returns the user's permission for records of a share; `nil` if the user cannot see them. If both the share and the
  /// zone share give a permission, the higher one applies. [E]
  func permission(in share: String?) -> SharePermission? {
    let own = share.flatMap { permissions[$0] }
    guard let whole = permissions[StoredShare.zoneShareName] else { return own }
    return max(whole, own ?? .none)
  }

  func sees(_ name: String) -> Bool { permission(in: zone.share(of: name)) != nil }

  /// Whether the user's devices may have a record that is no longer visible: it left one of their shares, they left its
  /// share, or that share was deleted. [E]
  func mayKnow(_ shares: [String]) -> Bool {
    permissions[StoredShare.zoneShareName] != nil
      || shares.contains { permissions[$0] != nil || former.contains($0) || zone.records[$0] == nil }
  }
}
