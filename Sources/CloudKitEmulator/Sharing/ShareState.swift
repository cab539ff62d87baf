/// What somebody may do with shared records. [D]
enum SharePermission: String, Sendable, Comparable {
  case none = "NONE"
  case readOnly = "READ_ONLY"
  case readWrite = "READ_WRITE"

  private var rank: Int {
    switch self {
    case .none: 0
    case .readOnly: 1
    case .readWrite: 2
    }
  }

  static func < (left: SharePermission, right: SharePermission) -> Bool { left.rank < right.rank }
}

/// One who takes part in a share, or is invited to. (2.6) [D]
struct ShareParticipant: Sendable, Hashable {
  enum Role: String, Sendable {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    case user = "USER"
    /// Came by the URL of a share that is open to everybody.
    case publicUser = "PUBLIC_USER"
  }

  var id: String
  var role: Role
  var permission: SharePermission
  var hasAccepted: Bool
  /// How the owner named them: an address, a number or a record name.
  var lookupInfo: JSONObject
  /// Known once somebody has accepted, and before where the lookup info tells.
  var userRecordName: String?
}

/// What a record of type `cloudkit.share` holds besides its fields.
struct ShareState: Sendable, Hashable {
  /// The type's name; the documentation's spelling with a capital K does not work. [L3]
  static let recordType = "cloudkit.share"
  /// The name of the record that shares a zone as a whole. [FW]
  static let zoneShareName = "cloudkit.zoneshare"
  /// A number of the framework's documentation. [FW]
  static let participantLimit = 100

  /// The record at the top of what is shared; `nil` for a whole zone.
  var root: String?
  var publicPermission = SharePermission.none
  /// Everybody, the owner first.
  var participants: [ShareParticipant]
  /// Users who took part once. Their devices still have to be told what is gone.
  var former: [String] = []

  /// The permission of somebody who takes part; `nil` for everybody else, the owner too, whose records these are.
  func permission(of user: String) -> SharePermission? {
    let own = participants.first { $0.userRecordName == user && $0.role != .owner && $0.hasAccepted }
    guard let permission = own?.permission, permission != .none else { return nil }
    return permission
  }

  /// Those who take part, without the owner.
  var members: [String] {
    participants.compactMap { $0.userRecordName }.filter { permission(of: $0) != nil }
  }

  /// Takes somebody out, and remembers it.
  mutating func remove(_ user: String) {
    participants.removeAll { $0.userRecordName == user && $0.role != .owner }
    if !former.contains(user) { former.append(user) }
  }
}

extension ShareState {
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
