import JSONText

/// The permission of a participant for shared records. [D]
enum SharePermission: String, Sendable, Comparable, CaseIterable {
  case none = "NONE"
  case readOnly = "READ_ONLY"
  case readWrite = "READ_WRITE"

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  static func < (left: SharePermission, right: SharePermission) -> Bool { left.rank < right.rank }
}

/// A participant of a share, or a user invited to one. (reference 2.6) [D]
struct ShareParticipant: Sendable, Hashable {
  enum Role: String, Sendable {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    case user = "USER"
    /// A user who joined through the URL of a public share.
    case publicUser = "PUBLIC_USER"
  }

  var id: String
  var role: Role
  var permission: SharePermission
  var hasAccepted: Bool
  /// The owner's identification of the participant: an email address, a phone number or a record name.
  var lookupInfo: JSONObject
  /// The user's record name; `nil` until the invitation is accepted if the lookup info does not identify a user.
  var userRecordName: String?
}

/// The state of a `cloudkit.share` record besides its fields.
struct StoredShare: Sendable, Hashable {
  /// The name of the record that shares a whole zone. [FW]
  static let zoneShareName = "cloudkit.zoneshare"
  /// The maximum number of participants without the owner, from the framework's documentation. [FW]
  static let participantLimit = 100

  /// The name of the root record; `nil` for a whole zone.
  var root: String?
  var publicPermission = SharePermission.none
  /// All participants, the owner first.
  var participants: [ShareParticipant]
  /// The record names of former participants, whose devices must still learn which records are gone.
  var former: [String] = []

  /// Returns the permission of a participant; `nil` for the owner, who needs none, and for everyone else.
  func permission(of user: String) -> SharePermission? {
    let own = participants.first { $0.userRecordName == user && $0.role != .owner && $0.hasAccepted }
    guard let permission = own?.permission, permission != .none else { return nil }
    return permission
  }

  /// The record names of the participants without the owner.
  var members: [String] {
    participants.compactMap { $0.userRecordName }.filter { permission(of: $0) != nil }
  }

  /// Removes a participant and remembers it.
  mutating func remove(_ user: String) {
    participants.removeAll { $0.userRecordName == user && $0.role != .owner }
    if !former.contains(user) { former.append(user) }
  }
}

extension StoredShare {
  var row: JSON {
    var object: JSONObject = [
      "public": .string(publicPermission.rawValue), "former": .array(former.map { .string($0) }),
      "participants": .array(
        participants.map { one in
          var object: JSONObject = [
            "id": .string(one.id), "role": .string(one.role.rawValue), "permission": .string(one.permission.rawValue),
            "accepted": .bool(one.hasAccepted), "info": .object(one.lookupInfo),
          ]
          object.append("user", one.userRecordName.map { .string($0) })
          return .object(object)
        }
      ),
    ]
    object.append("root", root.map { .string($0) })
    return .object(object)
  }

  init?(row: JSONObject) {
    guard let permission = row["public"]?.string.flatMap(SharePermission.init(rawValue:)),
      let list = row["participants"]?.array
    else { return nil }
    publicPermission = permission
    participants = []
    for case .object(let one) in list {
      guard let id = one["id"]?.string, let role = one["role"]?.string.flatMap(ShareParticipant.Role.init(rawValue:)),
        let permission = one["permission"]?.string.flatMap(SharePermission.init(rawValue:))
      else { return nil }
      participants.append(
        ShareParticipant(
          id: id,
          role: role,
          permission: permission,
          hasAccepted: one["accepted"]?.bool ?? false,
          lookupInfo: one["info"]?.object ?? [:],
          userRecordName: one["user"]?.string
        )
      )
    }
    former = row["former"]?.array?.compactMap(\.string) ?? []
    root = row["root"]?.string
  }
}
