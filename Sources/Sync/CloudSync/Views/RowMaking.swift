import Facts

/// Creating rows of lists.
extension QueueRow {
  /// Creates a row without the operation's payload.
  ///
  /// - Parameter serverTag: the change tag of the server's record; nil if there is none.
  package init(_ operation: QueuedOperation, serverTag: String?) {
    self.init(
      id: operation.id,
      version: operation.version(serverTag: serverTag),
      kind: operation.kind,
      key: operation.key,
      type: operation.type,
      state: operation.state,
      cause: operation.cause,
      attempts: operation.attempts,
      maxAttempts: operation.maxAttempts,
      nextAttemptAt: operation.nextAttemptAt,
      blockedBy: operation.blockedBy,
      errorCode: operation.errorCode,
      errorMessage: operation.errorMessage,
      bytes: operation.bytes,
      enqueuedAt: operation.enqueuedAt,
      since: operation.conflictAt,
      group: operation.group
    )
  }

  /// The row in a list: whatever a server sends, it stays short.
  var listed: QueueRow {
    var row = self
    row.cause = cause.listed
    row.errorMessage = errorMessage?.shortened(to: Words.listed)
    row.blockedBy = Array(blockedBy.prefix(Words.named))
    return row
  }
}

extension RecordRow {
  /// Creates a row for a record just read from the server, with nothing pending.
  package init(onServer record: MirrorRecord) {
    self.init(record: record, changeTag: record.changeTag, operation: nil, operationState: nil)
  }
}
