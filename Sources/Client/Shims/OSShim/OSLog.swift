import Foundation
package import Logging
@_exported public import OSShim

/// The level of a log message.
public struct OSLogType: RawRepresentable, Hashable, Sendable {
  /// The raw value, as on Apple's systems.
  public let rawValue: UInt8
  /// Creates a level from a raw value.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The default level, for messages worth keeping.
  public static let `default` = OSLogType(rawValue: 0)
  /// The info level, for helpful but not essential messages.
  public static let info = OSLogType(rawValue: 1)
  /// The debug level, for developers.
  public static let debug = OSLogType(rawValue: 2)
  /// The error level, for failures.
  public static let error = OSLogType(rawValue: 16)
  /// The fault level, for bugs in the program or the system.
  public static let fault = OSLogType(rawValue: 17)

  var level: Logging.Logger.Level {
    switch self {
    case .debug: .debug
    case .info: .info
    case .error: .error
    case .fault: .critical
    default: .notice
    }
  }
}

/// The destination of log messages. On Linux it is a swift-log logger with the label `subsystem.category`.
public final class OSLog: Sendable {
  /// The log for messages without a subsystem.
  public static let `default` = OSLog(Logging.Logger(label: "default"))
  /// A log that drops its messages.
  public static let disabled = OSLog(nil)

  private let logger: Logging.Logger?

  package init(_ logger: Logging.Logger?) { self.logger = logger }

  /// Creates a log for a subsystem and category.
  public convenience init(subsystem: String, category: String) {
    self.init(Logging.Logger(label: "\(subsystem).\(category)"))
  }

  /// Whether messages at a level are logged, as far as the logger's level decides.
  public func isEnabled(type: OSLogType) -> Bool { logger.map { $0.logLevel <= type.level } ?? false }

  func write(_ message: @autoclosure () -> String, _ type: OSLogType) {
    logger?.log(level: type.level, "\(message())")
  }
}

/// Logs a message with C format placeholders. As on Apple's systems, arguments for `%@`, `%s` and `%{private}…` are
/// shown as `<private>` unless the placeholder contains `%{public}` or the environment `OS_LOG_SHOW_PRIVATE=1`.
public func os_log(_ message: StaticString, log: OSLog = .default, type: OSLogType = .default, _ arguments: Any...) {
  log.write(FormattedMessage.text(message.description, arguments), type)
}

/// Logs a message with C format placeholders.
public func os_log(_ type: OSLogType, log: OSLog = .default, _ message: StaticString, _ arguments: Any...) {
  log.write(FormattedMessage.text(message.description, arguments), type)
}

/// Logs a message with values at the default level.
@_disfavoredOverload
public func os_log(_ message: OSLogMessage) { OSLog.default.write(message.text, .default) }

/// Logs a message with values to a log.
@_disfavoredOverload
public func os_log(_ message: OSLogMessage, log: OSLog = .default, type: OSLogType = .default) {
  log.write(message.text, type)
}

/// Logs a message with values at a level.
@_disfavoredOverload
public func os_log(_ type: OSLogType, log: OSLog = .default, _ message: OSLogMessage) { log.write(message.text, type) }

private enum FormattedMessage {
  /// Replaces the placeholders with the descriptions of the arguments.
  static func text(_ format: String, _ arguments: [Any]) -> String {
    var arguments = arguments[...]
    return format.replacing(/%(?:\{([^}]*)\})?[-+ #0]*[0-9.*]*(?:hh|h|ll|l|q|z|t|j)?([@a-zA-Z%])/) { match in
      guard match.2 != "%" else { return "%" }
      guard let argument = arguments.popFirst() else { return "<missing>" }
      let options = match.1 ?? ""
      let isText = "@sS".contains(match.2)
      let privacy: OSLogPrivacy =
        if options.contains("sensitive") {
          .sensitive
        } else if options.contains("private") || (isText && !options.contains("public")) {
          .private
        } else {
          .public
        }
      return privacy.shows(argument) ? String(describing: argument) : "<private>"
    }
  }
}
