import CloudSync
import JSONText

extension AccountState: PrintedObject {
  /// The account object inside `status`.
  static let jsonFields: JSONFields<Self> = [
    "status": .text(\.status.rawValue), "user": .text(\.user), "credential": .text(\.credential),
    "detail": .text(\.detail),
  ]

  /// The output of `account`.
  static let longFields = jsonFields.adding([
    "permissions": .texts(\.permissions),
    // Keys and tokens do not state when they expire.
    "expiresAt": .value { _ in .null }, "signInURL": .text(\.signInURL),
  ])
}
