import Foundation
package import Logging
internal import Metrics

/// Records the cost and outcome of requests in a log and in the process's metrics. The log is silent unless the program
/// sets a logger.
///
/// Neither contains credentials, field values or record names. Text from the server is shortened and stripped of
/// control characters, because it may be shown on a terminal.
///
/// | Metric | Kind | Dimensions |
/// |---|---|---|
/// | `cloudkit_requests_total` | counter | `operation`, `database`, `status` (of HTTP, or `none` without a reply) |
/// | `cloudkit_request_duration_seconds` | timer | `operation`, `database` |
/// | `cloudkit_sent_bytes_total`, `cloudkit_received_bytes_total` | counter | `operation`, `database` |
package struct Instruments: Sendable {
  package static let silent = Logger(label: "CloudKit", factory: { _ in SwiftLogNoOpLogHandler() })

  private let logger: Logger
  /// Whether the reasons of rejections and lost replies are logged.
  private let logsReasons: Bool

  package init(_ logger: Logger, logsReasons: Bool = true) { (self.logger, self.logsReasons) = (logger, logsReasons) }

  /// Logs what the program asked to see.
  package func report(_ text: String) { logger.info("\(text)") }

  /// One request, from just before it is sent until it ends.
  struct Exchange: Sendable {
    fileprivate let operation: String
    fileprivate let database: String
    fileprivate let sent: Int
    fileprivate let began = ContinuousClock.now

    /// - Parameter path: `/database/1/container/environment/database/operation…`, or the same under `/device/…`.
    init(path: String, sent: Int) {
      let isDevice = path.hasPrefix("/device/")
      let parts = path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: isDevice ? 4 : 5)
        .map { String(Substring($0)) }
      database = isDevice || parts.count < 5 ? "none" : parts[4]
      operation = parts.dropFirst(isDevice ? 4 : 5).first ?? ""
      self.sent = sent
    }

    /// - Parameter transfer: The name of the operation on the asset hosts.
    init(transfer: String, sent: Int) {
      (operation, database) = (transfer, "none")
      self.sent = sent
    }
  }

  func answered(_ exchange: Exchange, with response: CKTransportResponse, refusal: () -> WebServicesError) {
    let duration = measure(exchange, status: String(response.status), received: response.body.count)
    let isRefusal = !(200..<300).contains(response.status)
    // This runs for every request, and few programs use debug logging.
    guard logger.logLevel <= (isRefusal ? .warning : .debug) else { return }
    var metadata = metadata(exchange, duration)
    metadata["status"] = .stringConvertible(response.status)
    metadata["received"] = .stringConvertible(response.body.count)
    if let id = response.requestID { metadata["request"] = .string(Self.safe(id)) }
    guard isRefusal else { return logger.debug("CloudKit replied.", metadata: metadata) }
    let refusal = refusal()
    metadata["code"] = .string(Self.safe(refusal.code.name))
    if logsReasons { metadata["reason"] = .string(Self.safe(refusal.reason)) }
    logger.warning("CloudKit rejected a request.", metadata: metadata)
  }

  /// Records the transfer of an asset's file, or its refusal by the host.
  func transferred(_ exchange: Exchange, status: Int, received: Int) {
    let duration = measure(exchange, status: String(status), received: received)
    var metadata = metadata(exchange, duration)
    metadata["status"] = .stringConvertible(status)
    metadata["received"] = .stringConvertible(received)
    let moved = (200..<300).contains(status)
    logger.log(
      level: moved ? .debug : .warning,
      moved ? "Asset transferred." : "The asset host rejected a transfer.",
      metadata: metadata
    )
  }

  func failed(_ exchange: Exchange, _ error: CKTransportError) {
    let duration = measure(exchange, status: "none", received: 0)
    var metadata = metadata(exchange, duration)
    if logsReasons { metadata["reason"] = .string(Self.safe(error.message)) }
    logger.log(
      level: error.delivery == .cancelled ? .debug : .warning,
      "CloudKit did not reply.",
      metadata: metadata
    )
  }

  func signedAgain(offset: TimeInterval) {
    logger.notice(
      "The local clock differs from CloudKit's. The request is signed again with CloudKit's time.",
      metadata: ["seconds": .stringConvertible(offset.rounded())]
    )
  }

  func adoptedToken() { logger.debug("CloudKit replaced the web auth token.") }

  private func metadata(_ exchange: Exchange, _ duration: Duration) -> Logger.Metadata {
    [
      "operation": .string(exchange.operation), "database": .string(exchange.database),
      "sent": .stringConvertible(exchange.sent), "duration": .string("\(duration)"),
    ]
  }

  private func measure(_ exchange: Exchange, status: String, received: Int) -> Duration {
    let duration = exchange.began.duration(to: .now)
    let dimensions = [("operation", exchange.operation), ("database", exchange.database)]
    Counter(label: "cloudkit_requests_total", dimensions: dimensions + [("status", status)]).increment()
    Metrics.Timer(label: "cloudkit_request_duration_seconds", dimensions: dimensions).record(duration: duration)
    Counter(label: "cloudkit_sent_bytes_total", dimensions: dimensions).increment(by: exchange.sent)
    Counter(label: "cloudkit_received_bytes_total", dimensions: dimensions).increment(by: received)
    return duration
  }

  private static func safe(_ text: String) -> String {
    if text.utf8.count <= 200, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text }
    var safe = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(200) {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: safe.append("\u{FFFD}")
      default: safe.append(scalar)
      }
    }
    return String(safe)
  }
}
