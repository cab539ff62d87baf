/// A user whom the emulator knows more of than the name: how they are found, and what they are called.
public struct EmulatorUser: Sendable, Hashable {
  /// The name that a web-auth token carries; it makes the user record name.
  public var name: String
  /// The address they are found by.
  public var emailAddress: String?
  /// The number they are found by, however it is spaced.
  public var phoneNumber: String?
  /// The parts of the name by their keys on the wire: `givenName`, `familyName`, `nickname`, …
  public var nameComponents: [String: String]
  /// Whether others find this user, and whether answers tell the name.
  public var isDiscoverable: Bool
  /// The custom roles of the schema that they have been given, as in CloudKit Console. [FW]
  public var roles: Set<String>

  /// Makes a user.
  public init(
    name: String,
    emailAddress: String? = nil,
    phoneNumber: String? = nil,
    nameComponents: [String: String] = [:],
    isDiscoverable: Bool = true,
    roles: Set<String> = []
  ) {
    self.name = name
    self.emailAddress = emailAddress
    self.phoneNumber = phoneNumber
    self.nameComponents = nameComponents
    self.isDiscoverable = isDiscoverable
    self.roles = roles
  }

  /// Somebody of whom nothing but the name is known.
  init(_ name: String) {
    self.init(name: name, emailAddress: name.contains("@") ? name : nil, nameComponents: ["givenName": name])
  }

  var recordName: String { WebAuthToken.recordName(of: name) }

  /// Whether a lookup info means this user. Case in addresses and everything but digits in numbers is of no account.
  /// [E]
  func matches(_ info: JSONObject) -> Bool {
    if let text = info["userRecordName"]?.string { return text == recordName }
    if let text = info["emailAddress"]?.string { return text.lowercased() == emailAddress?.lowercased() }
    guard let text = info["phoneNumber"]?.string, let phoneNumber else { return false }
    return !text.filter(\.isNumber).isEmpty && text.filter(\.isNumber) == phoneNumber.filter(\.isNumber)
  }

  /// The identity dictionary of 2.6, with a name only if the user allows it. [D]
  ///
  /// - Parameter lookupInfo: What the user was found by; the address, the number or the record name by default.
  func identity(lookupInfo: JSONObject? = nil) -> JSONObject {
    var own = JSONObject()
    if let emailAddress {
      own.append("emailAddress", .string(emailAddress))
    } else if let phoneNumber {
      own.append("phoneNumber", .string(phoneNumber))
    } else {
      own.append("userRecordName", .string(recordName))
    }
    var object: JSONObject = ["userRecordName": .string(recordName), "lookupInfo": .object(lookupInfo ?? own)]
    if isDiscoverable, !nameComponents.isEmpty {
      var names = JSONObject()
      for (key, value) in nameComponents.sorted(by: { $0.key < $1.key }) { names.append(key, .string(value)) }
      object.append("nameComponents", .object(names))
    }
    return object
  }

  /// The older dictionary, which has but two names. (2.6) [D]
  var legacy: JSONObject {
    var object: JSONObject = [
      "userRecordName": .string(recordName), "firstName": .string(nameComponents["givenName"] ?? ""),
      "lastName": .string(nameComponents["familyName"] ?? ""),
    ]
    object.append("emailAddress", emailAddress.map { .string($0) })
    return object
  }
}
