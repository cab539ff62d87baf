extension CKShare {
  /// One who takes part in a share.
  public typealias Participant = CKShareParticipant
  /// What is known of a share by its URL.
  public typealias Metadata = CKShareMetadata

  /// What somebody is to a share, with Apple's numbers.
  public enum ParticipantRole: Int, Sendable, CaseIterable {
    /// Not known.
    case unknown = 0
    /// The one whose records they are.
    case owner = 1
    /// May invite others.
    case administrator = 2
    /// Was invited.
    case privateUser = 3
    /// Came in by the URL.
    case publicUser = 4
  }

  /// The former name of a role, with Apple's numbers.
  public enum ParticipantType: Int, Sendable, CaseIterable {
    /// Not known.
    case unknown = 0
    /// The one whose records they are.
    case owner = 1
    /// Was invited.
    case privateUser = 3
    /// Came in by the URL.
    case publicUser = 4
  }

  /// What somebody may do with the shared records, with Apple's numbers.
  public enum ParticipantPermission: Int, Sendable, CaseIterable {
    /// Not known.
    case unknown = 0
    /// Nothing.
    case none = 1
    /// Read.
    case readOnly = 2
    /// Read and write.
    case readWrite = 3
  }

  /// Whether somebody has answered the invitation, with Apple's numbers.
  public enum ParticipantAcceptanceStatus: Int, Sendable, CaseIterable {
    /// Not known.
    case unknown = 0
    /// Invited, and has not answered yet.
    case pending = 1
    /// Takes part.
    case accepted = 2
    /// Takes part no more.
    case removed = 3
  }
}

// MARK: - The wire's words (reference 2.6)

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

  /// The role under its former name, which had no administrators: they were told as private users.
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
