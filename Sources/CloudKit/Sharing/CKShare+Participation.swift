extension CKShare {
  /// A participant of a share.
  public typealias Participant = CKShareParticipant
  /// The metadata of a share, fetched by its URL.
  public typealias Metadata = CKShareMetadata

  /// The role of a participant in a share. The raw values are Apple's.
  public enum ParticipantRole: Int, Sendable {
    /// The role is unknown.
    case unknown = 0
    /// The owner of the shared records.
    case owner = 1
    /// A participant who may invite others.
    case administrator = 2
    /// An invited participant.
    case privateUser = 3
    /// A participant who joined through the URL.
    case publicUser = 4
    /// Never used: <doc:MovingToAServer#Switches>.
    @available(*, unavailable) case _unknown = -1
  }

  /// The role of a participant under its older name. The raw values are Apple's.
  public enum ParticipantType: Int, Sendable {
    /// The role is unknown.
    case unknown = 0
    /// The owner of the shared records.
    case owner = 1
    /// An invited participant.
    case privateUser = 3
    /// A participant who joined through the URL.
    case publicUser = 4
    /// Never used: <doc:MovingToAServer#Switches>.
    @available(*, unavailable) case _unknown = -1
  }

  /// The permission of a participant for the shared records. The raw values are Apple's.
  public enum ParticipantPermission: Int, Sendable {
    /// The permission is unknown.
    case unknown = 0
    /// No access.
    case none = 1
    /// Read access.
    case readOnly = 2
    /// Read and write access.
    case readWrite = 3
    /// Never used: <doc:MovingToAServer#Switches>.
    @available(*, unavailable) case _unknown = -1
  }

  /// The participant's reply to the invitation. The raw values are Apple's.
  public enum ParticipantAcceptanceStatus: Int, Sendable {
    /// The status is unknown.
    case unknown = 0
    /// Invited, without a reply so far.
    case pending = 1
    /// Accepted.
    case accepted = 2
    /// Removed from the share.
    case removed = 3
    /// Never used: <doc:MovingToAServer#Switches>.
    @available(*, unavailable) case _unknown = -1
  }
}

// MARK: - Wire encoding (reference 2.6)

extension CKShare.ParticipantRole {
  init(wire: String?) {
    self =
      switch wire {
      case "OWNER": .owner
      case "ADMINISTRATOR": .administrator
      case "USER": .privateUser
      case "PUBLIC_USER": .publicUser
      default: .unknown
      }
  }

  var wire: String {
    switch self {
    case .unknown: "UNKNOWN"
    case .owner: "OWNER"
    case .administrator: "ADMINISTRATOR"
    case .privateUser: "USER"
    case .publicUser: "PUBLIC_USER"
    }
  }

  /// The role under its older name. It has no administrators; they are private users.
  var type: CKShare.ParticipantType {
    CKShare.ParticipantType(rawValue: rawValue) ?? .privateUser
  }
}

extension CKShare.ParticipantPermission {
  init(wire: String?) {
    self =
      switch wire {
      case "NONE": .none
      case "READ_ONLY": .readOnly
      case "READ_WRITE": .readWrite
      default: .unknown
      }
  }

  var wire: String {
    switch self {
    case .unknown: "UNKNOWN"
    case .none: "NONE"
    case .readOnly: "READ_ONLY"
    case .readWrite: "READ_WRITE"
    }
  }
}

extension CKShare.ParticipantAcceptanceStatus {
  var wire: String {
    switch self {
    case .unknown: "UNKNOWN"
    case .pending: "INVITED"
    case .accepted: "ACCEPTED"
    case .removed: "REMOVED"
    }
  }

  init(wire: String?) {
    self =
      switch wire {
      case "INVITED", "PENDING": .pending
      case "ACCEPTED": .accepted
      case "REMOVED": .removed
      default: .unknown
      }
  }
}
