import Foundation
package import Logging
@_exported public import OSShim

/// How much a message matters.
public struct OSLogType: RawRepresentable, Hashable, Sendable {
  /// Apple's number.
  public let rawValue: UInt8
  /// Makes a type of Apple's number.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Worth keeping.
  public static let `default` = OSLogType(rawValue: 0)
  /// Helpful, not essential.
  public static let info = OSLogType(rawValue: 1)
  /// For developers.
  public static let debug = OSLogType(rawValue: 2)
  /// Something failed.
  public static let error = OSLogType(rawValue: 16)
  /// A mistake in the program or the system.
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

/// Where messages go: on Linux, to a swift-log logger labelled `subsystem.category`.
public final class OSLog: Sendable {
  /// The log of messages that belong nowhere else.
  public static let `default` = OSLog(Logging.Logger(label: "default"))
  /// A log that drops its messages.
  public static let disabled = OSLog(nil)

  private let logger: Logging.Logger?

  package init(_ logger: Logging.Logger?) { self.logger = logger }

  /// Makes a log for a part of a program.
  public convenience init(subsystem: String, category: String) {
    self.init(Logging.Logger(label: "\(subsystem).\(category)"))
  }

  func write(_ message: @autoclosure () -> String, _ type: OSLogType) {
    logger?.log(level: type.level, "\(message())")
  }
}

/// Logs a message with C's placeholders. What stands for `%@`, `%s` or `%{private}…` is shown as `<private>` unless the
/// placeholder says `%{public}`, as on Apple's systems.
public func os_log(_ message: StaticString, log: OSLog = .default, type: OSLogType = .default, _ arguments: Any...) {
  log.write(FormattedMessage.text(message.description, arguments), type)
}

/// Logs a message with C's placeholders.
public func os_log(_ type: OSLogType, log: OSLog = .default, _ message: StaticString, _ arguments: Any...) {
  log.write(FormattedMessage.text(message.description, arguments), type)
}

private enum FormattedMessage {
  /// Puts the arguments, in their own words, where the placeholders stand.
  static func text(_ format: String, _ arguments: [Any]) -> String {
    var arguments = arguments[...]
    return format.replacing(/%(?:\{([^}]*)\})?[-+ #0]*[0-9.*]*(?:hh|h|ll|l|q|z|t|j)?([@a-zA-Z%])/) { match in
      guard match.2 != "%" else { return "%" }
      guard let argument = arguments.popFirst() else { return "<missing>" }
      let options = match.1 ?? ""
      let isPrivate = options.contains("private") || ("@sS".contains(match.2) && !options.contains("public"))
      return isPrivate ? "<private>" : String(describing: argument)
    }
  }
}
