import Facts

/// Rows of lists, made from what is held already.
extension QueueRow {
  /// The operation without its payload.
  ///
  /// - Parameter serverTag: the tag of the server's record; nil where there is none.
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
      group: operation.group
    )
    explainBlockers()
  }

  /// What a pending operation waits for is its reason.
  mutating func explainBlockers() {
    guard !blockedBy.isEmpty, state == .pending else { return }
    cause = .waitsFor(blockedBy, isGroup: false)
  }
}

extension RecordRow {
  /// A record just read from the server: nothing of it is pending.
  package init(onServer record: MirrorRecord) {
    self.init(record: record, changeTag: record.changeTag, operation: nil, operationState: nil)
  }
}
