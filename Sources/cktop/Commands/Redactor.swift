import CloudSync
import Facts
import Foundation

/// Masks secrets in texts from elsewhere: a server's reply may quote the request.
struct Redactor: Sendable {
  private let secrets: [String]

  /// - Parameter settings: the settings, which hold this process's secrets.
  init(_ settings: Settings, storePath: String?) {
    var secrets = [settings.apiToken?.value, settings.webAuthToken?.value].compactMap { $0 }
    if let path = storePath, let configured = settings.webAuthToken?.value,
      let kept = KeptToken(storePath: path, configured: configured).read()
    {
      secrets.append(kept)
    }
    self.secrets = secrets.filter { $0.count >= 4 }.sorted { $0.count > $1.count }
  }

  /// The text with secrets masked.
  func redact(_ text: String) -> String {
    var text = text
    for secret in secrets { text = text.replacingOccurrences(of: secret, with: "********") }
    // Tokens of other users and earlier sessions, found by their parameter names.
    for name in ["ckWebAuthToken", "ckAPIToken", "ckSession", "webAuthToken"] {
      text = text.replacingOccurrences(
        of: "(\(name)[\"']?\\s*[=:]\\s*[\"']?)[^\"'&\\s,}]+",
        with: "$1********",
        options: .regularExpression
      )
    }
    return text
  }

  /// The cause; if its text holds a secret, the masked text.
  func redact(_ cause: Cause) -> Cause {
    let text = redact(cause.text)
    return text == cause.text ? cause : .legacy(text)
  }

  /// An operation of a list with secrets masked.
  func redact(_ row: QueueRow) -> QueueRow {
    var row = row
    row.cause = redact(row.cause)
    row.errorMessage = row.errorMessage.map(redact)
    return row
  }

  /// A cause of several operations without secrets.
  func redact(_ cause: QueueCause) -> QueueCause {
    var cause = cause
    cause.cause = redact(cause.cause)
    cause.message = cause.message.map(redact)
    return cause
  }

  /// An event without secrets.
  func redact(_ row: EventRow) -> EventRow {
    var row = row
    let text = redact(row.message)
    if text != row.message { row.event = .legacy(kind: row.kind, text) }
    return row
  }

  /// The details of an operation with secrets masked.
  func redact(_ detail: OperationDetail) -> OperationDetail {
    let known = detail
    var detail = detail
    if let operation = known.operation {
      detail.operation?.cause = redact(operation.cause)
      detail.operation?.errorMessage = operation.errorMessage.map(redact)
    }
    if let ended = known.history { detail.history?.cause = redact(ended.cause) }
    for index in detail.attempts.indices {
      detail.attempts[index].message = detail.attempts[index].message.map(redact)
      detail.attempts[index].response = detail.attempts[index].response.map(redact)
    }
    for index in detail.dropped.indices { detail.dropped[index].cause = redact(detail.dropped[index].cause) }
    return detail
  }
}
