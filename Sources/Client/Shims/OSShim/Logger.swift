internal import Foundation

/// A logger for a part of a program. On Linux it writes to swift-log.
public struct Logger: Sendable {
  private let log: OSLog

  /// Creates a logger for messages without a subsystem.
  public init() { log = .default }
  /// Creates a logger that writes to a log.
  public init(_ log: OSLog) { self.log = log }
  /// Creates a logger for a subsystem and category.
  public init(subsystem: String, category: String) { log = OSLog(subsystem: subsystem, category: category) }

  /// Logs a message with a level.
  public func log(level: OSLogType, _ message: OSLogMessage) { log.write(message.text, level) }
  /// Logs a message at the default level.
  public func log(_ message: OSLogMessage) { log.write(message.text, .default) }
  /// Logs a message at the debug level.
  public func trace(_ message: OSLogMessage) { log.write(message.text, .debug) }
  /// Logs a message at the debug level.
  public func debug(_ message: OSLogMessage) { log.write(message.text, .debug) }
  /// Logs a message at the info level.
  public func info(_ message: OSLogMessage) { log.write(message.text, .info) }
  /// Logs a message at the default level.
  public func notice(_ message: OSLogMessage) { log.write(message.text, .default) }
  /// Logs a message at the error level.
  public func warning(_ message: OSLogMessage) { log.write(message.text, .error) }
  /// Logs a message at the error level.
  public func error(_ message: OSLogMessage) { log.write(message.text, .error) }
  /// Logs a message at the fault level.
  public func critical(_ message: OSLogMessage) { log.write(message.text, .fault) }
  /// Logs a message at the fault level.
  public func fault(_ message: OSLogMessage) { log.write(message.text, .fault) }
}

/// The visibility of a value in a log. `OS_LOG_SHOW_PRIVATE=1` in the environment shows private values, for example on
/// a developer's terminal.
public struct OSLogPrivacy: Sendable {
  enum Reader { case everybody, developers, none, byType }
  let reader: Reader

  /// The value is visible.
  public static let `public` = OSLogPrivacy(reader: .everybody)
  /// The value is shown as `<private>`, unless the environment says otherwise.
  public static let `private` = OSLogPrivacy(reader: .developers)
  /// The value is shown as `<private>`, whatever the environment says.
  public static let sensitive = OSLogPrivacy(reader: .none)
  /// Numbers and Booleans are visible; other values are private.
  public static let auto = OSLogPrivacy(reader: .byType)

  /// Whether private values are visible.
  @TaskLocal package static var showsPrivate = showsPrivate(ProcessInfo.processInfo.environment)

  /// Returns whether an environment makes private values visible.
  package static func showsPrivate(_ environment: [String: String]) -> Bool {
    environment["OS_LOG_SHOW_PRIVATE"] == "1"
  }

  func shows(_ value: Any) -> Bool {
    switch reader {
    case .everybody: true
    case .developers: Self.showsPrivate
    case .none: false
    case .byType: value is any Numeric || value is Bool || Self.showsPrivate
    }
  }
}

/// A log message. Values other than numbers are private unless stated otherwise.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
  let text: String

  /// Creates a message without values.
  public init(stringLiteral value: String) { text = value }
  /// Creates a message with values.
  public init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

  /// Collects the parts of a message. The compiler uses this type.
  public struct Interpolation: StringInterpolationProtocol {
    var text = ""

    /// Creates an empty message.
    public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }
    /// Appends literal text.
    public mutating func appendLiteral(_ literal: String) { text += literal }
    /// Appends a value.
    public mutating func appendInterpolation<Value>(_ value: Value, privacy: OSLogPrivacy = .auto) {
      text += privacy.shows(value) ? String(describing: value) : "<private>"
    }
  }
}
