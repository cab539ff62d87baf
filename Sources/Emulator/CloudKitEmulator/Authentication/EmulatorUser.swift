import JSONText

/// A user with more data than a name: contact details, name components and roles.
public struct EmulatorUser: Sendable, Hashable {
  /// The name in the user's web auth token. The user record name is derived from it.
  public var name: String
  /// The email address by which others find the user.
  public var emailAddress: String?
  /// The phone number by which others find the user. Only its digits are compared.
  public var phoneNumber: String?
  /// The parts of the user's name by their wire keys: `givenName`, `familyName`, `nickname`, …
  public var nameComponents: [String: String]
  /// Whether others can find this user, and whether responses contain the name.
  public var isDiscoverable: Bool
  /// The user's custom roles in the schema, as assigned in CloudKit Console. [FW]
  public var roles: Set<String>

  /// Creates a user.
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

  /// Creates a user of whom only the name is known.
  init(_ name: String) {
    self.init(name: name, emailAddress: name.contains("@") ? name : nil, nameComponents: ["givenName": name])
  }

  var recordName: String { WebAuthToken.recordName(of: name) }

  /// Whether a lookup info identifies this user. Email addresses are compared without regard to case, phone numbers
  /// only by their digits. [E]
  func matches(_ info: JSONObject) -> Bool {
    if let text = info["userRecordName"]?.string { return text == recordName }
    if let text = info["emailAddress"]?.string { return text.lowercased() == emailAddress?.lowercased() }
    guard let text = info["phoneNumber"]?.string, let phoneNumber else { return false }
    return !text.filter(\.isNumber).isEmpty && text.filter(\.isNumber) == phoneNumber.filter(\.isNumber)
  }

  /// Returns the identity dictionary (reference 2.6). It contains the name only if the user is discoverable. [D]
  ///
  /// - Parameter lookupInfo: The lookup info that found the user. By default, the email address, the phone number or
  ///   the record name.
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

  /// The older dictionary, which has only a first and a last name. (reference 2.6) [D]
  var legacy: JSONObject {
    var object: JSONObject = [
      "userRecordName": .string(recordName), "firstName": .string(nameComponents["givenName"] ?? ""),
      "lastName": .string(nameComponents["familyName"] ?? ""),
    ]
    object.append("emailAddress", emailAddress.map { .string($0) })
    return object
  }
}
