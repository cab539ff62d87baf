import Facts
import Foundation

/// Masks secrets in texts from elsewhere: a server's reply may quote the request. Everything that is read to be shown
/// or exported goes through it.
package struct Redaction: Hashable, Sendable {
  private let secrets: [String]

  /// - Parameter secrets: texts to mask, besides tokens that are found by their parameter names.
  package init(_ secrets: [String] = []) {
    self.secrets = secrets.filter { $0.count >= 4 }.sorted { $0.count > $1.count }
  }

  /// The text with secrets masked.
  package func redact(_ text: String) -> String {
    var text = text
    for secret in secrets where text.contains(secret) { text = text.replacingOccurrences(of: secret, with: Self.mask) }
    // Tokens of other users and earlier sessions, found by their parameter names.
    for name in Self.names where text.contains(name) {
      text = text.replacingOccurrences(
        of: "(\(name)[\"']?\\s*[=:]\\s*[\"']?)[^\"'&\\s,}]+",
        with: "$1\(Self.mask)",
        options: .regularExpression
      )
    }
    return text
  }

  private static let mask = "********"

  private static let names = ["ckWebAuthToken", "ckAPIToken", "ckSession", "webAuthToken"]

  /// The cause; if its text holds a secret, the masked text.
  func redact(_ cause: Cause) -> Cause {
    let text = redact(cause.text)
    return text == cause.text ? cause : .inWords(text, isUnconfirmed: cause.isUnconfirmed)
  }

  /// A value with secrets masked in its cause and in these texts.
  private func redact<Value>(
    _ value: Value,
    _ cause: WritableKeyPath<Value, Cause>,
    _ text: WritableKeyPath<Value, String?>? = nil
  ) -> Value {
    var value = value
    value[keyPath: cause] = redact(value[keyPath: cause])
    if let text { value[keyPath: text] = value[keyPath: text].map(redact) }
    return value
  }

  func redact(_ row: QueueRow) -> QueueRow { redact(row, \.cause, \.errorMessage) }

  package func redact(_ conflict: Conflict) -> Conflict { redact(conflict, \.cause) }

  func redact(_ change: DroppedChange) -> DroppedChange { redact(change, \.cause) }

  func redact(_ cause: QueueCause) -> QueueCause {
    var cause = redact(cause, \.cause, \.message)
    // The masked part matches anything.
    cause.filter = redact(cause.filter).replacing(Self.mask, with: "%")
    return cause
  }

  func redact(_ row: EventRow) -> EventRow {
    var row = row
    row.actor = row.actor.map(redact)
    let text = redact(row.message)
    if text != row.message { row.event = .inWords(kind: row.kind, text) }
    return row
  }

  func redact(_ detail: OperationDetail) -> OperationDetail {
    var detail = detail
    detail.operation = detail.operation.map { redact($0, \.cause, \.errorMessage) }
    detail.history = detail.history.map { redact($0, \.cause) }
    for index in detail.attempts.indices {
      detail.attempts[index].message = detail.attempts[index].message.map(redact)
      detail.attempts[index].response = detail.attempts[index].response.map(redact)
    }
    detail.dropped = detail.dropped.map(redact)
    return detail
  }

  func redact(_ failure: StoreStatus.Failure) -> StoreStatus.Failure {
    var failure = failure
    failure.message = redact(failure.message)
    return failure
  }

  private func redact(_ wait: ScopeWait) -> ScopeWait {
    var wait = wait
    wait.message = redact(wait.message)
    return wait
  }

  func redact(_ status: StoreStatus) -> StoreStatus {
    var status = status
    status.accountProblem = status.accountProblem.map(redact)
    status.networkProblem = status.networkProblem.map(redact)
    status.quotaProblem = status.quotaProblem.map(redact)
    status.lastError = status.lastError.map(redact)
    status.deliveryProblem = status.deliveryProblem.map(redact)
    status.topFailure = status.topFailure.map { redact($0, \.cause, \.message) }
    status.throttles = status.throttles.map(redact)
    for index in status.unreadable.indices {
      status.unreadable[index].message = redact(status.unreadable[index].message)
    }
    for index in status.rejectedQueries.indices {
      status.rejectedQueries[index].message = redact(status.rejectedQueries[index].message)
    }
    return status
  }
}
