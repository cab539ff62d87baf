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
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
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
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
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
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
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
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }
}

// MARK: - Wire encoding (reference 2.6)

/// A value with names on the wire. A value with several names is sent as the first.
protocol WireNamed: Equatable {
  static var unknown: Self { get }
  static var names: [(value: Self, name: String)] { get }
}

extension WireNamed {
  init(wire: String?) { self = Self.names.first { $0.name == wire }?.value ?? .unknown }

  var wire: String { Self.names.first { $0.value == self }?.name ?? "UNKNOWN" }
}

extension CKShare.ParticipantRole: WireNamed {
  static let names: [(value: Self, name: String)] = [
    (.owner, "OWNER"), (.administrator, "ADMINISTRATOR"), (.privateUser, "USER"), (.publicUser, "PUBLIC_USER"),
  ]

  /// The role under its older name. It has no administrators; they are private users.
  var type: CKShare.ParticipantType {
    CKShare.ParticipantType(rawValue: rawValue) ?? .privateUser
  }
}

extension CKShare.ParticipantPermission: WireNamed {
  static let names: [(value: Self, name: String)] = [
    (.none, "NONE"), (.readOnly, "READ_ONLY"), (.readWrite, "READ_WRITE"),
  ]
}

extension CKShare.ParticipantAcceptanceStatus: WireNamed {
  static let names: [(value: Self, name: String)] = [
    (.pending, "INVITED"), (.pending, "PENDING"), (.accepted, "ACCEPTED"), (.removed, "REMOVED"),
  ]
}
