/// Logs the messages of a part of a program: on Linux, through swift-log.
public struct Logger: Sendable {
  private let log: OSLog

  /// Makes a logger for messages that belong nowhere else.
  public init() { log = .default }
  /// Makes a logger of a log.
  public init(_ log: OSLog) { self.log = log }
  /// Makes a logger for a part of a program.
  public init(subsystem: String, category: String) { log = OSLog(subsystem: subsystem, category: category) }

  /// Logs a message of a type.
  public func log(level: OSLogType, _ message: OSLogMessage) { log.write(message.text, level) }
  /// Logs a message worth keeping.
  public func log(_ message: OSLogMessage) { log.write(message.text, .default) }
  /// Logs a message for developers.
  public func trace(_ message: OSLogMessage) { log.write(message.text, .debug) }
  /// Logs a message for developers.
  public func debug(_ message: OSLogMessage) { log.write(message.text, .debug) }
  /// Logs a helpful message.
  public func info(_ message: OSLogMessage) { log.write(message.text, .info) }
  /// Logs a message worth keeping.
  public func notice(_ message: OSLogMessage) { log.write(message.text, .default) }
  /// Logs a failure.
  public func warning(_ message: OSLogMessage) { log.write(message.text, .error) }
  /// Logs a failure.
  public func error(_ message: OSLogMessage) { log.write(message.text, .error) }
  /// Logs a mistake in the program or the system.
  public func critical(_ message: OSLogMessage) { log.write(message.text, .fault) }
  /// Logs a mistake in the program or the system.
  public func fault(_ message: OSLogMessage) { log.write(message.text, .fault) }
}

/// Who may read a value in a log.
public struct OSLogPrivacy: Sendable {
  enum Reader { case everybody, nobody, byType }
  let reader: Reader

  /// Everybody.
  public static let `public` = OSLogPrivacy(reader: .everybody)
  /// Nobody: it is shown as `<private>`.
  public static let `private` = OSLogPrivacy(reader: .nobody)
  /// Nobody: it is shown as `<private>`.
  public static let sensitive = OSLogPrivacy(reader: .nobody)
  /// Everybody for numbers and truth values, nobody for anything else.
  public static let auto = OSLogPrivacy(reader: .byType)
}

/// A message whose values are private unless they are numbers, or say otherwise.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
  let text: String

  /// Makes a message without values.
  public init(stringLiteral value: String) { text = value }
  /// Makes a message with values.
  public init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

  /// Collects a message's parts. The compiler calls this.
  public struct Interpolation: StringInterpolationProtocol {
    var text = ""

    /// Begins a message.
    public init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }
    /// Adds text of the program's own.
    public mutating func appendLiteral(_ literal: String) { text += literal }
    /// Adds a value.
    public mutating func appendInterpolation<Value>(_ value: Value, privacy: OSLogPrivacy = .auto) {
      let isShown =
        switch privacy.reader {
        case .everybody: true
        case .nobody: false
        case .byType: value is any Numeric || value is Bool
        }
      text += isShown ? String(describing: value) : "<private>"
    }
  }
}
