// Signposts, which Instruments shows on Apple's systems. Nothing reads them on Linux, so they do nothing.

/// The identity of a signpost.
public struct OSSignpostID: RawRepresentable, Comparable, Hashable, Sendable {
  /// The number of the signpost.
  public let rawValue: UInt64
  /// Creates an identity from its number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  /// Creates an identity from its number.
  public init(_ value: UInt64) { rawValue = value }
  /// Creates an identity.
  public init(log: OSLog) { self = .exclusive }
  /// Creates the identity of an object.
  public init(log: OSLog, object: AnyObject) { rawValue = UInt64(UInt(bitPattern: ObjectIdentifier(object))) }

  /// The identity of the only signpost with its name.
  public static let exclusive = OSSignpostID(0xEEEE_B0B5_B2B2_EEEE)
  /// An identity that no signpost has.
  public static let invalid = OSSignpostID(.max)
  /// No identity.
  public static let null = OSSignpostID(0)

  /// Whether the first number is smaller.
  public static func < (left: OSSignpostID, right: OSSignpostID) -> Bool { left.rawValue < right.rawValue }
}

/// The kind of a signpost.
public struct OSSignpostType: RawRepresentable, Hashable, Sendable {
  /// The raw value, as on Apple's systems.
  public let rawValue: UInt8
  /// Creates a kind from a raw value.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A point in time.
  public static let event = OSSignpostType(rawValue: 0)
  /// The start of an interval.
  public static let begin = OSSignpostType(rawValue: 1)
  /// The end of an interval.
  public static let end = OSSignpostType(rawValue: 2)
}

extension OSLog {
  /// The category of a log for Instruments.
  public struct Category: Hashable, Sendable {
    let name: String

    /// Points of interest.
    public static let pointsOfInterest = Category(name: "PointsOfInterest")
    /// Events that are only recorded while a tool traces.
    public static let dynamicTracing = Category(name: "DynamicTracing")
    /// Events with stacks that are only recorded while a tool traces.
    public static let dynamicStackTracing = Category(name: "DynamicStackTracing")
  }

  /// Creates a log for a subsystem and a category of Instruments.
  public convenience init(subsystem: String, category: Category) {
    self.init(subsystem: subsystem, category: category.name)
  }

  /// Whether something records signposts: never on Linux.
  public var signpostsEnabled: Bool { false }
}

/// Does nothing on Linux.
public func os_signpost(
  _ type: OSSignpostType,
  dso: UnsafeRawPointer? = nil,
  log: OSLog,
  name: StaticString,
  signpostID: OSSignpostID = .exclusive
) {}

/// Does nothing on Linux. The arguments are evaluated.
public func os_signpost(
  _ type: OSSignpostType,
  dso: UnsafeRawPointer? = nil,
  log: OSLog,
  name: StaticString,
  signpostID: OSSignpostID = .exclusive,
  _ format: StaticString,
  _ arguments: Any...
) {}

/// The message of a signpost.
public typealias SignpostMetadata = OSLogMessage

/// An interval that has begun.
public final class OSSignpostIntervalState: Codable, Sendable {
  private let number: UInt64

  private init(_ id: OSSignpostID) { number = id.rawValue }

  /// Returns the state of an interval that begins.
  public static func beginState(id: OSSignpostID) -> OSSignpostIntervalState { OSSignpostIntervalState(id) }
}

/// A source of signposts. On Linux they do nothing.
public struct OSSignposter: Sendable {
  /// A source of signposts that nothing records.
  public static let disabled = OSSignposter()

  /// Creates a source without a subsystem.
  public init() {}
  /// Creates a source for a subsystem and category.
  public init(subsystem: String, category: String) {}
  /// Creates a source for a subsystem and a category of Instruments.
  public init(subsystem: String, category: OSLog.Category) {}
  /// Creates a source for a log.
  public init(logHandle: OSLog) {}
  /// Creates a source for a logger.
  public init(logger: Logger) {}

  /// Whether something records signposts: never on Linux.
  public var isEnabled: Bool { false }

  /// Returns an identity.
  public func makeSignpostID() -> OSSignpostID { .exclusive }
  /// Returns the identity of an object.
  public func makeSignpostID(from object: AnyObject) -> OSSignpostID { OSSignpostID(log: .disabled, object: object) }

  /// Marks a point in time.
  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive) {}
  /// Marks a point in time with a message.
  public func emitEvent(
    _ name: StaticString,
    id: OSSignpostID = .exclusive,
    _ message: @autoclosure () -> SignpostMetadata
  ) {}

  /// Marks the start of an interval.
  public func beginInterval(_ name: StaticString, id: OSSignpostID = .exclusive) -> OSSignpostIntervalState {
    .beginState(id: id)
  }
  /// Marks the start of an interval with a message.
  public func beginInterval(
    _ name: StaticString,
    id: OSSignpostID = .exclusive,
    _ message: @autoclosure () -> SignpostMetadata
  ) -> OSSignpostIntervalState {
    .beginState(id: id)
  }
  /// Marks the start of an animation.
  public func beginAnimationInterval(_ name: StaticString, id: OSSignpostID = .exclusive) -> OSSignpostIntervalState {
    .beginState(id: id)
  }

  /// Marks the end of an interval.
  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}
  /// Marks the end of an interval with a message.
  public func endInterval(
    _ name: StaticString,
    _ state: OSSignpostIntervalState,
    _ message: @autoclosure () -> SignpostMetadata
  ) {}

  /// Runs a closure within an interval.
  public func withIntervalSignpost<Result>(
    _ name: StaticString,
    id: OSSignpostID = .exclusive,
    around task: () throws -> Result
  ) rethrows -> Result {
    try task()
  }
  /// Runs a closure within an interval with a message.
  public func withIntervalSignpost<Result>(
    _ name: StaticString,
    id: OSSignpostID = .exclusive,
    _ message: @autoclosure () -> SignpostMetadata,
    around task: () throws -> Result
  ) rethrows -> Result {
    try task()
  }
}
