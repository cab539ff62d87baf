import Foundation

/// Causes in words: parts of sentences that begin in lower case and end without a full stop.
extension Cause {
  /// The words for programs: the end of a wait is in UTC.
  package var text: String {
    switch self {
    case .ready: "ready to send"
    case .readyAgain(let event): "\(event.text); ready to send"
    case .comparesFile: "its file is uploaded first, to compare it with the server's"
    case .deletesUnconfirmedSave: "deletes what an unconfirmed request may still create"
    case .basedOnOldVersion: "based on an older version; the server's record is fetched first"
    case .serverChanged: "the server reported another version; its record is fetched first"
    case .unconfirmed(let code) where Words.isConflict(code):
      "the server has another version; its record is fetched first"
    case .unconfirmed(let code): "unconfirmed, \(Words.error(code)); checking with the server"
    case .checkRefused(let code): "the check with the server failed, \(Words.error(code)); smaller requests follow"
    case .checkWaits(let scope, let code): "unconfirmed; the check waits: \(scope.text(code))"
    case .sentBeforeRestart(true): "sent before a restart; will be sent again"
    case .sentBeforeRestart(false): "sent before a restart; checking with the server"
    case .waits(let scope, let code, let until):
      scope.text(code) + (until.flatMap(RFC3339.text(milliseconds:)).map(scope.end) ?? "")
    case .groupRejected: "another change of its atomic group was rejected; will be sent again"
    case .requestTooLarge(let code): "the request was too large (\(code)); a smaller one follows"
    case .bisection(let code, let count):
      "the server rejected a request of \(count) changes (\(code)); smaller requests find the bad record"
    case .recordDeleted: "the server deleted its record; the deletion is on hold"
    case .zoneMissing(let zone, true): "the server deleted zone \(zone); the deletion is on hold"
    case .zoneMissing(let zone, false): "waits for zone \(zone) to be created"
    case .waitsFor(let ids, let isGroup, let hasMore, let names):
      "waits for \(Self.operations(ids, hasMore: hasMore, names))" + (isGroup ? " of its atomic group" : "")
    case .inCycle(let ids, let obstacle, let names):
      "is in a reference cycle with \(Self.operations(ids, hasMore: false, names)) that \(obstacle.text); "
        + "clear one of its references, and set it once the records are saved"
    case .zoneFirst(let zone): "zone \(zone) is created first"
    case .filesFirst: "its files are uploaded first"
    case .waitsForZoneDelete(0): "waits until the records of its deleted zone are removed"
    case .waitsForZoneDelete(let id): "waits for the deletion of its zone, operation \(id)"
    case .deletionsOnHold(let zone, let isWholeZone):
      "the server deleted \(isWholeZone ? "zone \(zone)" : "its record with many others"); "
        + "`cktop zones restore` recreates it, `cktop zones accept` deletes it here"
    case .recordDeletedWhileFetching: "the server deleted its record; the zone's changes are still being fetched"
    case .waitsForApp: "waits for the app, which decides what is sent; `cktop sync --without-app` sends it"
    case .sending: "being sent"
    case .senderEnded: "sent by a process that has ended; the next sync checks with the server"
    case .backOff(let code, let attempt, let limit): "\(Words.error(code)), attempt \(attempt) of \(limit)"
    case .stillReferredTo(let code, let attempt, let limit, let referrers):
      "\(Words.referring(referrers)) (\(code)), attempt \(attempt) of \(limit)"
    case .appSilent(let reason): "the app did not answer: \(reason)"
    case .pausedByRule(let scope, let actor): "\(scope.text) is paused\(Words.by(actor))"
    case .paused(let actor): "paused\(Words.by(actor))"
    case .conflict(let conflict, nil): conflict.text
    case .conflict(let conflict, let rounds?): "conflicted \(rounds) times in a row: \(conflict.text)"
    case .failed(let failure): failure.text
    case .noted(let cause, let note): "\(cause.text); \(note.text)"
    case .onServer(false): "the server has it"
    case .onServer(true): "the server no longer has it"
    case .zoneDone: "done on the server"
    case .editedBack: "edited back before it was sent; nothing was left to send"
    case .deletedBeforeSent: "deleted before it was sent"
    case .zoneDeleteEnqueued: "the deletion of its zone was enqueued"
    case .zoneKept: "the zone is kept"
    case .serverKept(let fields) where fields.isEmpty: "the server's values were kept"
    case .serverKept(let fields): "the server's value was kept for \(Words.list(fields))"
    case .serverSideKept(.deletedHere): "the record was edited on the server; the local deletion was dropped"
    case .serverSideKept(.deletedOnServer): "the record was deleted on the server; the local edit was dropped"
    case .serverSideKept(.recreatedHere): "the record was edited on the server; the record recreated here was dropped"
    case .serverSideKept(let conflict): "\(conflict.text); the server's side was kept"
    case .localKept(let fields): "this machine's value was kept for \(Words.list(fields))"
    case .localSideKept(.deletedHere): "the record was edited on the server; the local deletion was kept"
    case .localSideKept(.deletedOnServer): "the record was deleted on the server; the local edit was kept"
    case .localSideKept(.recreatedHere): "the record was edited on the server; the record recreated here was kept"
    case .localSideKept(let conflict): "\(conflict.text); this machine's side was kept"
    case .undone(let actor): "replaced by an undo\(Words.by(actor))"
    case .resolved(let decider): "resolved by \(decider.text)"
    case .discarded(let actor): "discarded\(Words.by(actor))"
    case .withdrawnByApp: "withdrawn by the app"
    case .moved(let path): "moved to \(path)"
    case .inWords(let text, _): text
    }
  }
}

extension Cause.CycleObstacle {
  fileprivate var text: String {
    switch self {
    case .size: "is too large for one request"
    case .zones: "leads through several zones"
    }
  }
}

extension Cause {
  /// The operations by their records, as far as these are known: "Country/DE (operation 3) and 2 more".
  private static func operations(_ ids: [Int64], hasMore: Bool, _ names: [String]) -> String {
    guard !names.isEmpty else {
      return
        "\(ids.count == 1 ? "operation" : "operations") \(Words.list(ids.map(String.init)))\(hasMore ? " and more" : "")"
    }
    let named = zip(names, ids).map { "\($0) (operation \($1))" }
    let rest = ids.count - named.count
    return named.joined(separator: ", ") + (hasMore ? " and more" : rest > 0 ? " and \(rest) more" : "")
  }
}

extension Cause {
  /// The words for a person, with the end of a wait in local time.
  package func text(_ format: Format, now: Int64) -> String {
    switch self {
    case .waits(let scope, let code, let until?): scope.text(code) + scope.end(format.time(until, now: now))
    case .noted(let cause, let note): "\(cause.text(format, now: now)); \(note.text)"
    default: text
    }
  }

  /// The words for a list, with the end of a wait in local time.
  package func brief(_ format: Format, now: Int64) -> String {
    guard case .waits(let scope, let code, let until?) = self else { return brief }
    return scope.brief(code) + scope.end(format.time(until, now: now))
  }

  /// The words for a list, which shows the state beside them and may cut them: what tells the cause from others comes
  /// first, and of a rejection there is only what the server says.
  package var brief: String {
    switch self {
    case .failed(let failure): failure.brief
    case .conflict(.fields(let names), nil) where !names.isEmpty: Words.list(names)
    case .conflict(let conflict, let rounds?): "\(rounds) times in a row: \(conflict.text)"
    case .backOff(let code, let attempt, let limit): "\(Words.brief(code)) (\(attempt) of \(limit))"
    case .checkRefused(let code): "check failed, \(Words.error(code)); smaller requests follow"
    case .checkWaits(let scope, let code): "check waits: \(scope.text(code))"
    case .unconfirmed(let code) where !Words.isConflict(code): "unconfirmed: \(Words.error(code))"
    case .sentBeforeRestart(true): "repeated after a restart"
    case .sentBeforeRestart(false): "checking after a restart"
    case .recordDeleted: "on hold: the server deleted the record"
    case .zoneMissing(let zone, true): "on hold: zone \(zone) was deleted"
    case .deletionsOnHold(let zone, true): "decide: zone \(zone) was deleted"
    case .deletionsOnHold(_, false): "decide: the server deleted it with many others"
    case .recordDeletedWhileFetching: "fetching: the server deleted the record"
    case .waitsForZoneDelete(0): "after the removal of its deleted zone"
    case .waitsForZoneDelete(let id): "after the zone's deletion, operation \(id)"
    case .groupRejected: "atomic group was rejected; will be sent again"
    case .pausedByRule(let scope, let actor): "by rule: \(scope.text)\(Words.by(actor))"
    case .noted(let cause, let note): "\(cause.brief); \(note.text)"
    default: text
    }
  }

  /// The cause in a row of a list: it names at most ten operations, and its text is at most as long as `Words.listed`.
  package var listed: Cause {
    var cause = self
    if case .waitsFor(let ids, let isGroup, _, let names) = cause, ids.count > Words.named {
      cause = .waitsFor(Array(ids.prefix(Words.named)), isGroup: isGroup, hasMore: true, names: names)
    }
    let (text, short) = (cause.text, cause.text.shortened(to: Words.listed))
    return short == text ? cause : .inWords(short, isUnconfirmed: isUnconfirmed)
  }
}

extension Cause {
  /// Whether a request was sent whose reply was lost, so that the server may have applied it.
  package var isUnconfirmed: Bool {
    switch self {
    case .unconfirmed(let code): !Words.isConflict(code)
    case .checkWaits, .checkRefused, .sentBeforeRestart, .senderEnded, .deletesUnconfirmedSave: true
    case .noted(let cause, _): cause.isUnconfirmed
    case .inWords(_, let isUnconfirmed): isUnconfirmed
    default: false
    }
  }
}

extension Cause.Event {
  fileprivate var text: String {
    switch self {
    case .edited: "edited again"
    case .editedWhileSent: "edited while it was being sent"
    case .merged: "merged with the server's record"
    case .retried(let actor): "retried\(Words.by(actor))"
    case .resumed(let actor): "resumed\(Words.by(actor))"
    case .flushed: "its back-off was ended"
    case .resolved(let decider): "its conflict was resolved by \(decider.text)"
    case .repairedByApp: "repaired by the app"
    case .takenOver(let user): "taken over by \(user)"
    case .recreates: "the server deleted the record, which will be recreated"
    case .zoneStillThere: "the zone still exists"
    }
  }
}

extension Cause.Decider {
  fileprivate var text: String {
    switch self {
    case .person: "an operator"
    case .app: "the app"
    case .policy: "the conflict policy"
    }
  }
}

extension Cause.Scope {
  /// Why everything in the scope waits, or what the scope is, briefly.
  package var text: String {
    switch self {
    case .network: "offline"
    case .account: "the account cannot be used"
    case .quota: "storage quota full"
    case .database: "all requests"
    case .zone(let zone): "zone \(zone)"
    case .fetch(nil, nil): "fetching the list of zones"
    case .fetch(let zone?, nil): "fetching zone \(zone)"
    case .fetch(nil, let type?): "fetching records of type \(type)"
    case .fetch(let zone?, let type?): "fetching records of type \(type) in zone \(zone)"
    }
  }

  /// A wait of the scope and its end: "throttled until 14:05:10".
  ///
  /// - Parameter isOwn: whether it is our own back-off, not a wait that the server asked for.
  package func wait(until end: String, isOwn: Bool) -> String {
    let wait = isOwn ? "retrying at \(end)" : "throttled until \(end)"
    return switch self {
    case .network, .account, .quota: text + self.end(end)
    case .database: wait
    case .zone, .fetch: "\(text): \(wait)"
    }
  }

  /// The end of a wait of the scope, to be appended to its reason. Without an account or a quota nothing ends by
  /// itself: the server is asked again.
  fileprivate func end(_ time: String) -> String {
    switch self {
    case .network: "; next try \(time)"
    case .account, .quota: "; asked again at \(time)"
    case .database, .zone, .fetch: " until \(time)"
    }
  }

  /// Why everything in the scope waits, with the error that began the wait.
  package func text(_ code: String) -> String {
    switch self {
    case .network, .account, .quota: "\(text) (\(code))"
    case .database: Words.error(code)
    case .zone, .fetch: "\(text): \(Words.error(code))"
    }
  }
}

extension Cause.Scope {
  /// The same where space is short.
  package func brief(_ code: String) -> String {
    switch self {
    case .network, .account, .quota: text
    case .database: Words.brief(code)
    case .zone, .fetch: "\(text): \(Words.brief(code))"
    }
  }
}

extension Cause.PauseScope {
  package var text: String {
    switch self {
    case .everything: "everything"
    case .zone(let zone, let owner): "zone \(zone)\(owner.map { " of \($0)" } ?? "")"
    case .type(let type): "type \(type)"
    }
  }
}

extension Cause.Note {
  fileprivate var text: String {
    switch self {
    case .serverRecordChanged: "the server's record has changed since"
    case .recordDeleted: "the server has deleted the record since, which this recreates"
    case .serverChanged: "the server has reported another version since"
    case .waitsForApp: "waits for the app's decision"
    }
  }
}

extension ConflictCause {
  package var text: String {
    switch self {
    case .fields(let names) where names.isEmpty: "both sides changed the record"
    case .fields(let names): "both sides changed \(Words.list(names))"
    case .recreatedHere: "recreated here, edited on the server"
    case .deletedHere: "deleted here, edited on the server"
    case .deletedOnServer: "edited here, deleted on the server"
    case .existsUnseen: "the server says that the record exists, but does not return it"
    case .undecidedByApp(let failure): failure.text
    }
  }
}

extension ConflictCause.AppFailure {
  fileprivate var text: String {
    switch self {
    case .leftToPerson(let reason): "left to a person by the app: \(reason)"
    case .otherRecord: "the app returned another record than it was asked about"
    case .invalidRecord(let reason): "the app's record cannot be sent: \(reason)"
    case .failed(let reason): "the app failed to resolve it: \(reason)"
    case .silent(let time): "the app did not answer within \(time)"
    }
  }
}

extension Cause {
  /// The command that prints the schema lines that production lacks; nil for other causes.
  package var schemaCommand: String? {
    guard case .failed(.schemaLacks(let type, _, _)) = self else { return nil }
    return "cktop schema infer --type \(type.asArgument)"
  }

  /// The remedy that a person has, if its text does not name it; nil if there is none.
  package var remedy: String? {
    if let schemaCommand { return "\(schemaCommand) prints the schema lines to add. Retry once they are deployed." }
    guard case .failed(.file(let problem, _, let field)) = withoutNotes else { return nil }
    let retry =
      switch problem {
      case .missing: "Put the file back and retry"
      case .changed: "Retry to send a file queued in place as it is now"
      case .unreadable: "Make the file readable and retry"
      }
    return "\(retry), set another one with cktop records put --name NAME \(field):ASSETID=PATH, or discard the change."
  }
}

extension FailureCause {
  /// The code under which filters and scripts find it: the server's, or one of this program's own.
  package var code: String {
    switch self {
    case .rejected(let code, _, _), .tooLarge(let code, _), .cannotVerify(let code, _), .uploadExpired(let code),
      .referenceMissing(_, _, let code), .stillReferredTo(let code, _), .zoneDeleted(_, let code),
      .zoneUnavailable(_, let code),
      .damaged(let code, _), .schemaLacks(_, _, let code),
      .cannotVerifyZone(_, let code, _), .zoneCannotBeCreated(_, let code, _), .fileTooLarge(_, let code, _):
      code
    case .otherType: "EXISTS"
    case .zoneChanged: "CONFLICT"
    case .fileNotOnServer: "ASSET_NOT_AVAILABLE"
    case .file(.changed, _, _): "ASSET_FILE_MODIFIED"
    case .file: "ASSET_FILE_NOT_FOUND"
    case .refusedByApp: "APP_REFUSED"
    }
  }

  /// The words for a list, as those of a cause.
  fileprivate var brief: String {
    switch self {
    case .rejected(let code, let message, _) where !message.isEmpty: Words.joined(message, code)
    case .schemaLacks(let type, nil, _): "schema lacks type \(type)"
    case .schemaLacks(let type, let field?, _): "schema lacks \(type).\(field)"
    case .tooLarge(let code, let message): "too large: \(Words.joined(message, code))"
    case .otherType(let server, let local): "a \(server) on the server, here a \(local)"
    case .cannotVerify(let code, let message), .cannotVerifyZone(_, let code, let message):
      "check failed: \(Words.joined(message, code))"
    case .referenceMissing(let field, let name, let code): "no \(name) on the server, field \(field) (\(code))"
    case .zoneCannotBeCreated(_, let code, let message): "not created: \(Words.joined(message, code))"
    case .zoneDeleted(let zone, _): "zone \(zone) was deleted; retry sends it again"
    case .fileNotOnServer(let field): "file lost on the server: \(field)"
    case .file(.missing, let path, let field): "file gone: \(field), \(path)"
    case .file(.changed, let path, let field): "file changed: \(field), \(path)"
    case .file(.unreadable(let reason), let path, let field): "file unreadable: \(field), \(path): \(reason)"
    case .fileTooLarge(let field, let code, let message): "file too large: \(field), \(Words.joined(message, code))"
    case .damaged(_, let reason): "damaged in the store: \(reason)"
    default: text
    }
  }

  /// The server's or the app's own message where one of them rejected it, else the cause in words.
  package var message: String {
    switch self {
    case .rejected(_, let message, nil), .refusedByApp(let message): message
    default: text
    }
  }

  package var text: String {
    switch self {
    case .rejected(let code, "", nil): "the server rejected it (\(code))"
    case .rejected(let code, let message, nil): "the server rejected it: \(Words.joined(message, code))"
    case .rejected(let code, let message, let group?):
      "the server rejected \(group) changes that are only sent together, without naming the bad record: "
        + Words.joined(message, code)
    case .schemaLacks(let type, nil, _): "the production schema lacks record type \(type)"
    case .schemaLacks(let type, let field?, _): "the production schema lacks field '\(field)' of \(type)"
    case .tooLarge(let code, let message): "too large for the server even alone: \(Words.joined(message, code))"
    case .otherType(let server, let local): "the server has a \(server) of this name, not a \(local)"
    case .zoneChanged(let zone):
      "zone \(zone) has changed or was recreated since; retry deletes it, discard keeps it"
    case .cannotVerify(let code, let message): "the check with the server failed: \(Words.joined(message, code))"
    case .cannotVerifyZone(let zone, let code, let message):
      "the check of zone \(zone) failed: \(Words.joined(message, code))"
    case .referenceMissing(let field, let name, let code):
      "field \(field) refers to \(name), which the server does not have (\(code))"
    case .stillReferredTo(let code, let referrers):
      "\(Words.referring(referrers)); clear these references, then retry (\(code))"
    case .zoneCannotBeCreated(let zone, let code, let message):
      "zone \(zone) cannot be created: \(Words.joined(message, code))"
    case .zoneDeleted(let zone, _):
      "the server deleted zone \(zone); retry sends it again and recreates the zone if that is still missing"
    case .zoneUnavailable(let zone, _):
      "the server has no zone \(zone) for this user; discard it, or retry once the zone is shared"
    case .fileNotOnServer(let field): "the server no longer has the file of field \(field)"
    case .file(let problem, let path, let field): "the file \(path) for field \(field) \(problem.text)"
    case .fileTooLarge(let field, let code, let message):
      "the file of field \(field) is too large: \(Words.joined(message, code))"
    case .uploadExpired: "its files take longer to upload than the server keeps them for a save"
    case .refusedByApp(let reason): "the app refused it: \(reason)"
    case .damaged(_, let reason):
      "its row in the store is damaged (\(reason)); its content is kept: discard it, or edit the record again"
    }
  }
}

extension FailureCause.FileProblem {
  /// The end of a sentence about the file.
  package var text: String {
    switch self {
    case .missing: "is gone"
    case .changed: "has changed since"
    case .unreadable(let reason): "cannot be read: \(reason)"
    }
  }
}
