import Facts

/// Operations of one state, zone and type.
package struct QueuePart: Hashable, Sendable {
  package var state: OperationState
  package var zone: ZoneKey
  /// Empty for zone operations, and for deletes of unknown records.
  package var type: String
  package var count: Int
  package var bytes: Int
}

/// An operation in a list, without its payload.
package struct QueueRow: Hashable, Sendable, Identifiable {
  package var id: Int64
  /// Changes with the operation; a decision about it applies to one version. In a conflict it is the conflict's
  /// version.
  package var version: String
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  package var state: OperationState
  package var cause: Cause
  package var attempts: Int
  package var maxAttempts: Int
  package var nextAttemptAt: Int64?
  package var blockedBy: [Int64]
  package var errorCode: String?
  package var errorMessage: String?
  package var bytes: Int
  package var enqueuedAt: Int64
  /// The time of its last attempt, or when its conflict was found; nil where there is neither.
  package var since: Int64?
  /// The operation's atomic group.
  package var group: String?
  /// Whether a retry creates its zone again, which the server has deleted.
  package var recreatesZone = false
}

/// Failed or retrying operations that share a cause.
package struct QueueCause: Hashable, Identifiable, Sendable {
  package var id: String { filter }
  package var state: OperationState
  package var code: String?
  /// The server's message, with `…` for the names that it quotes.
  package var message: String?
  /// The cause of one of them.
  package var cause: Cause
  package var count: Int
  /// The oldest of them.
  package var first: Int64
  package var oldestAt: Int64
  /// The earliest next attempt; nil where they failed, or where their back-offs are over.
  package var nextAttemptAt: Int64?

  /// An expression that selects these operations.
  package var filter: String
  /// The zones that a retry of them creates again, because the server has deleted them.
  package var recreated: [String] = []
  /// Those that other changes wait for.
  var blocking: Set<Int64> = []
  /// The number of changes that can be sent once these are: nothing else that is held holds them.
  package var releases = 0
  /// Whether more changes wait for others than were looked at, so that it may release more.
  package var mayReleaseMore = false

  init(
    state: OperationState,
    code: String?,
    message: String?,
    cause: Cause,
    count: Int,
    first: Int64,
    oldestAt: Int64,
    nextAttemptAt: Int64?
  ) {
    (self.state, self.code, self.message, self.cause, self.count) = (state, code, message, cause, count)
    (self.first, self.oldestAt, self.nextAttemptAt) = (first, oldestAt, nextAttemptAt)
    let error = code.map { "error = \($0.quoted("''"))" } ?? "error is null"
    let text = message.map { "message like \($0.replacing("…", with: "%").quoted("''"))" } ?? "message is null"
    filter = state == .failed ? "state = 'failed' and \(error) and \(text)" : "state = 'retrying' and \(error)"
  }
}

/// The most frequent cause of failed operations.
package struct FailureSummary: Hashable, Sendable {
  /// The cause of one of them.
  package var cause: Cause
  package var code: String?
  /// The server's message, with `…` for the names that it quotes.
  package var message: String?
  /// The operations with this cause.
  package var count: Int
  /// The failed operations with other causes.
  package var more: Int
  /// Whether both numbers count all failed operations, not only the newest 250.
  package var isWhole: Bool
  /// Whether the server rejects a field of a save, which an edit of that field cures.
  package var isFieldRejected: Bool
}

/// A failed attempt to send an operation.
package struct Attempt: Hashable, Sendable {
  package var number: Int
  package var at: Int64
  package var seconds: Double
  package var code: String?
  package var message: String?
  /// The raw reply, cut to 4 KB, after the header with its identifier if it has none itself.
  package var response: String?
}

/// The ending of an operation that is no longer in the queue.
package struct HistoryEntry: Hashable, Sendable {
  package var id: Int64
  package var kind: OperationKind
  package var key: RecordKey
  package var type: String?
  package var ending: Ending
  package var cause: Cause
  package var enqueuedAt: Int64
  package var endedAt: Int64
  package var enqueuedBy: ProgramID?
}

/// Everything about one operation, live or ended.
package struct OperationDetail: Hashable, Sendable {
  /// Nil once it has ended.
  package var operation: QueuedOperation?
  package var server: MirrorRecord?
  /// Newest first.
  package var attempts: [Attempt]
  /// Its ending, if it has ended.
  package var history: HistoryEntry?
  /// The changes of it that were dropped, oldest first.
  package var dropped: [DroppedChange] = []
  /// Whether a retry creates its zone again, which the server has deleted.
  package var recreatesZone = false

  /// Every field of the queued change with its three values.
  package var sides: [Conflict.Field] { operation?.sides(server: server) ?? [] }
}

extension QueuedOperation {
  /// Every field that the change sets or clears, by name: its value before the change, with it, and on the server.
  package func sides(server: MirrorRecord?) -> [Conflict.Field] {
    changes.names.sorted().map { name in
      Conflict.Field(name: name, base: base[name], local: changes[name], server: server?.fields[name])
    }
  }
}

/// A record of the mirror with pending edits applied.
package struct RecordRow: Hashable, Sendable {
  package var record: MirrorRecord
  /// The server's change tag; nil if the record is not on the server yet.
  package var changeTag: String?
  /// The queued operation of this record, if any.
  package var operation: Int64?
  package var operationState: OperationState?
}

/// A zone in the list of zones.
package struct ZoneRow: Hashable, Identifiable, Sendable {
  package var id: ZoneKey { key }
  package var key: ZoneKey
  package var state: String
  package var records: Int
  /// The queued changes by state.
  package var queued: [OperationState: Int] = [:]
  package var tokenAt: Int64?
  package var lastFetchAt: Int64?
  /// The deletions on hold; nil if there are none.
  package var held: HeldDeletions?
  /// Whether the zone's delete is queued, or has been sent and its records are still being removed.
  package var isDeletePending = false
  /// Whether a rule pauses sending to the zone.
  package var isPaused = false
  /// Whether the server denies access to the zone.
  package var isDenied = false
  /// The fetch in progress or still to come; nil if the local copy has all changes that the server reported.
  package var fetch: Fetch?

  package struct Fetch: Hashable, Sendable {
    /// Whether all records are fetched, not only what changed.
    package var isOfAll: Bool
    /// The changes read so far. The server does not say how many there are.
    package var fetched: Int
  }
}

/// An entry of the event log.
package struct EventRow: Hashable, Identifiable, Sendable {
  package var id: Int64
  package var at: Int64
  package var event: Event
  /// The operation that it is about, or the one operation that a command was about.
  package var operation: Int64?
  package var zone: String?
  /// Who caused it, where a person did.
  package var actor: String?

  package var kind: String { event.kind }
  /// The event in words.
  package var message: String { event.text }
  /// The event in words, as screens begin them.
  package var sentence: String { event.sentence }
}
