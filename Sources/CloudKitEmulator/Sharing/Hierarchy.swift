/// Which share a record belongs to: the one of its nearest ancestor that is a root. [D]
enum Hierarchy {
  /// Longer chains of parents are not followed; they may run in a circle. [E]
  static let depthLimit = 1000

  /// Walks up from a record; a share's own record belongs to itself.
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
  /// The share a record belongs to, before that of the whole zone.
  func share(of name: String) -> String? {
    shares.isEmpty ? nil : Hierarchy.share(of: name) { records[$0]?.content }
  }

  /// The share of the whole zone, if there is one.
  var zoneShare: ShareState? { records[ShareState.zoneShareName]?.content.sharing }

  /// Everything below a record.
  func descendants(of name: String) -> Set<String> {
    var found: Set<String> = []
    var open = [name]
    while let parent = open.popLast() {
      for child in children(of: parent) where found.insert(child).inserted { open.append(child) }
    }
    return found
  }
}

/// What one participant sees of somebody else's zone. [FW]
struct SharedAccess {
  let user: String
  /// The permissions by share; empty for the owner of nothing here.
  private let permissions: [String: SharePermission]
  private let former: Set<String>
  private let zone: ZoneState

  /// `nil` for somebody who takes part in none of the zone's shares.
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

  /// Whether anything at all may be written.
  var mayWrite: Bool { permissions.values.contains(.readWrite) }

  /// What the user may do with a record of a share; `nil` means that it is not there for them. Of two shares the better
  /// permission holds. [E]
  func permission(in share: String?) -> SharePermission? {
    let own = share.flatMap { permissions[$0] }
    guard let whole = permissions[ShareState.zoneShareName] else { return own }
    return max(whole, own ?? .none)
  }

  func sees(_ name: String) -> Bool { permission(in: zone.share(of: name)) != nil }

  /// Whether the user's devices may hold a record that is out of sight now: it left a share of theirs, they left its
  /// share, or that share ended. [E]
  func mayKnow(_ shares: [String]) -> Bool {
    permissions[ShareState.zoneShareName] != nil
      || shares.contains { permissions[$0] != nil || former.contains($0) || zone.records[$0] == nil }
  }
}
