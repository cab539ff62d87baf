import CloudKit
import Facts
import Testing

@testable import CloudSync

/// What the ledger does about all rows that are no operations.
@Suite(.serialized) struct LedgerRowTests {
  private func write(_ body: (Ledger) throws -> Void) throws {
    try SQLiteStorage(inMemory: "store").write(body)
  }

  @Test func `the mirror knows its records by name, type and reading`() throws {
    try write { ledger in
      #expect(try ledger.isBlank())
      try ledger.put(.note("a", tag: "1"), epoch: 1)
      try ledger.put(.note("b", type: "Task"), epoch: 1)
      try ledger.put(.note("a", tag: "2"), epoch: 1)
      try ledger.put(.note("c", in: .two), epoch: 1)
      try ledger.touch(RecordKey(.one, "b"), epoch: 2)

      #expect(try !ledger.isBlank())
      #expect(try ledger.record(RecordKey(.one, "a")) == .note("a", tag: "2"))
      #expect(try ledger.changeTag(RecordKey(.one, "a")) == "2")
      #expect(try ledger.changeTag(RecordKey(.one, "c")) == nil)
      #expect(try ledger.namesNotSeen(.one, epoch: 2) == ["a"])
      #expect(try ledger.changeTags(.one, type: "Task") == [RecordKey(.one, "b"): "1"])
      #expect(try ledger.recordTypes(in: .one) == ["Note", "Task"])
      #expect(try ledger.recordCount(of: .one) == 2)

      #expect(try ledger.namesGone(.one) == [])
      try ledger.touch(RecordKey(.one, "a"), epoch: -1)
      try ledger.touch(RecordKey(.one, "b"), epoch: 3)
      #expect(try ledger.namesGone(.one) == ["a"] && ledger.namesGone(.one, limit: 0) == [])
      #expect(try ledger.goneCount(.one) == 1 && ledger.isGone(RecordKey(.one, "a")))
      #expect(try !ledger.isGone(RecordKey(.one, "b")) && !ledger.isGone(RecordKey(.one, "none")))

      try ledger.removeRecord(RecordKey(.one, "b"))
      #expect(try ledger.recordTypes(in: .one) == ["Note"])
      try ledger.removeRecord(RecordKey(.one, "a"))
      #expect(try ledger.recordCount(of: .one) == 0)
      #expect(try ledger.recordCount(of: .two) == 1)
    }
  }

  @Test func `zones, polledQueries and waits come back as they were put, in order`() throws {
    try write { ledger in
      var zone = KnownZone(ZoneKey(zone: "z", owner: "ben"), state: .ready)
      zone.createdHere = true
      zone.needsFetch = true
      zone.token = "t"
      zone.tokenAt = 1
      zone.lastFetchAt = 2
      zone.epoch = 3
      zone.fetchingAll = true
      (zone.fetched, zone.served, zone.heldSince) = (4, 5, 6)
      zone.recentLosses = RecentLosses(since: 7, records: 8, deleted: 9)
      try ledger.put(zone)
      #expect(try ledger.zone(zone.key) == zone)
      zone.recentLosses = nil
      try ledger.put(zone)
      try ledger.put(KnownZone(.two, state: .deleted))
      #expect(try ledger.zone(zone.key) == zone)
      #expect(try ledger.zones().map(\.key) == [.two, zone.key])
      try ledger.removeZone(.two)
      #expect(try ledger.zone(.two) == nil)

      var polled = PolledQuery(zone: .defaultZone, type: "Note")
      polled.watermark = 5
      polled.lastFetchAt = 6
      polled.scannedAt = 7
      try ledger.put(PolledQuery(zone: .defaultZone, type: "Task"))
      try ledger.put(PolledQuery(zone: .defaultZone, type: "Note"))
      try ledger.put(polled)
      #expect(try ledger.polledQueries() == [polled, PolledQuery(zone: .defaultZone, type: "Task")])

      var wait = ScopeWait(
        scope: .zone(zone.key),
        until: 9,
        seconds: 1.5,
        code: "C",
        message: "m",
        isOwn: true,
        since: 0
      )
      wait.credential = CredentialDigest(of: "token")
      try ledger.put(ScopeWait(scope: wait.scope, until: 1, seconds: 1, code: "B", message: "", isOwn: false, since: 0))
      try ledger.put(wait)
      try ledger.put(ScopeWait(scope: .database, until: 8, seconds: 1, code: "B", message: "", isOwn: false, since: 0))
      #expect(try ledger.wait(wait.scope) == wait)
      #expect(try ledger.waits(after: 7).map(\.scope) == [.database, wait.scope])
      #expect(try ledger.waits(after: 8) == [wait])
      try ledger.removeWait(wait.scope)
      #expect(try ledger.wait(wait.scope) == nil)
    }
  }

  @Test func `writing a zone leaves the version of its deletions on hold`() throws {
    try write { ledger in
      var zone = KnownZone(.one, state: .ready)
      zone.heldSince = 1
      try ledger.put(zone)
      let first = try ledger.heldVersion(of: zone)
      try ledger.put(.note("a"), epoch: 1)
      try ledger.touch(RecordKey(.one, "a"), epoch: MirrorRecord.gone)
      let version = try ledger.heldVersion(of: zone)
      zone.needsFetch = true
      try ledger.put(zone)

      #expect(try ledger.heldVersion(of: zone) == version && version != first)
    }
  }

  @Test func `where the bytes of assets are is known by zone and hash`() throws {
    try write { ledger in
      let place = AssetPlace(place: WireAssetPlace(recordName: "a", fieldName: "photo"), checksum: "c")
      try ledger.put(place, of: "hash", in: .one)
      #expect(try ledger.assetPlace("hash", in: .one) == place)
      #expect(try ledger.assetPlace("hash", in: .two) == nil)
      try ledger.removeAssetPlace("hash", in: .one)
      #expect(try ledger.assetPlace("hash", in: .one) == nil)

      var operation = QueuedOperation.save("a")
      operation.assets = [QueuedAsset(field: "photo", position: 0, digest: "hash", size: 3)]
      _ = try ledger.insert(operation, RecordLinks())
      #expect(try ledger.unneeded(["hash", "other"]) == ["other"])
    }
  }

  @Test func `a lease is extended by its own number alone`() throws {
    try write { ledger in
      #expect(try ledger.lease() == nil)
      #expect(try !ledger.extendLease(fencingToken: 1, until: 5))
      try ledger.put(LeaseHolder(fencingToken: 1, pid: 2, host: "here", expiresAt: 3))
      #expect(try !ledger.extendLease(fencingToken: 2, until: 5))
      #expect(try ledger.extendLease(fencingToken: 1, until: nil))
      #expect(try ledger.lease() == LeaseHolder(fencingToken: 1, pid: 2, host: "here", expiresAt: nil))
    }
  }

  @Test func `values, activity and passes come back as they were put`() throws {
    try write { ledger in
      try ledger.setValue(.identity, "v")
      try ledger.setValue(.identity, "w")
      #expect(try ledger.value(.identity) == "w")
      try ledger.setValue(.identity, nil)
      #expect(try ledger.value(.identity) == nil)

      #expect(try ledger.activity() == EngineActivity())
      let activity = EngineActivity(
        state: "sending",
        phase: "send",
        done: 1,
        total: 2,
        perSecond: 3.5,
        lastSuccessAt: 4,
        lastEnqueueAt: 5,
        errorCode: "C",
        errorMessage: "m",
        errorAt: 6,
        errorStands: true,
        reachedEnd: true
      )
      try ledger.put(activity)
      #expect(try ledger.activity() == activity)

      let first = try ledger.insertRequest(requestedAt: 1, types: ["Note", "Task"])
      let second = try ledger.insertRequest(requestedAt: 2, types: [])
      #expect(try ledger.request(first)?.types == "Note,Task")
      var pass = SyncRequest(id: first, types: "Note,Task", requestedAt: 1, startedAt: 3)
      try ledger.put(pass)
      #expect(try ledger.openRequests().map(\.id) == [first, second])
      pass.finishedAt = 4
      pass.summary = "{}"
      try ledger.put(pass)
      #expect(try ledger.request(first) == pass)
      #expect(try ledger.openRequests().map(\.id) == [second])
      try ledger.removeRequests(finishedBefore: 5)
      #expect(try ledger.request(first) == nil)
    }
  }

  @Test func `what happened is told newest first`() throws {
    try write { ledger in
      let attempts = (1...3).map { Attempt(number: $0, at: 1, seconds: 0.5, code: "C", message: "m", response: "r") }
      for attempt in attempts { try ledger.add(attempt, of: 7) }
      #expect(try ledger.attempts(of: 7) == attempts.reversed())
      #expect(try ledger.lastAttemptNumber(of: 7) == 3)
      #expect(try ledger.attempts(of: 8) == [])

      for name in ["a", "b"] {
        let id = try ledger.insert(.save(name))
        try ledger.end(.save(name, id: id), .merged, .inWords("so it was", isUnconfirmed: false), now: 5)
      }
      #expect(try ledger.history(limit: 9).map(\.key.name) == ["b", "a"])
      #expect(try ledger.history(limit: 1).map(\.key.name) == ["b"])
      #expect(try ledger.history(of: 1)?.cause == .inWords("so it was", isUnconfirmed: false))
      #expect(try ledger.operation(1) == nil)

      for number in 1...5 {
        #expect(
          try ledger.add(.zoneDeleted(zone: "\(number)"), at: 1, operation: nil, zone: nil, actor: nil) == Int64(number)
        )
      }
      try ledger.removeEvents(kind: "zone", keeping: 2)
      #expect(
        try ledger.events(matching: ListQuery(now: 0), after: 0, limit: 9).map(\.event) == [
          .zoneDeleted(zone: "5"), .zoneDeleted(zone: "4"),
        ]
      )

      let commands = ["ana", "ben"].map { AuditedCommand(at: 1, actor: $0, command: .retry(.all), count: 2) }
      for command in commands { _ = try ledger.put(command) }
      #expect(try ledger.commands(limit: 9) == commands.reversed())
    }
  }

  @Test func `what is too old or too much goes from the oldest on, a portion at a time`() throws {
    try write { ledger in
      for number in 1...6 {
        let id = try ledger.insert(.save("\(number)"))
        for number in 1...3 {
          try ledger.add(Attempt(number: number, at: 1, seconds: 0, code: nil, message: nil, response: nil), of: id)
        }
        try ledger.end(.save("\(number)", id: id), .merged, .serverKept(), now: number == 4 ? 40 : Int64(number))
        _ = try ledger.put(AuditedCommand(at: Int64(number), actor: "ana", command: .seeDropped, count: number))
      }
      try ledger.removeAttempts(of: 6, through: 2)
      #expect(try ledger.attempts(of: 6).map(\.number) == [3])
      #expect(try ledger.lastAttemptNumber(of: 6) == 3)

      #expect(try ledger.removeHistory(endedBefore: 9, keeping: 9, limit: 2) == 2)
      #expect(try ledger.history(limit: 9).map(\.key.name) == ["6", "5", "4", "3"])
      #expect(try ledger.history(of: 1) == nil)
      #expect(try ledger.attempts(of: 1) == [])
      #expect(try ledger.attempts(of: 3).count == 3)
      #expect(try ledger.removeHistory(endedBefore: 9, keeping: 9, limit: 9) == 1)
      #expect(try ledger.removeHistory(endedBefore: 0, keeping: 1, limit: 9) == 2)
      #expect(try ledger.history(limit: 9).map(\.key.name) == ["6"])

      #expect(try ledger.removeCommands(before: 3, keeping: 9, limit: 9) == 2)
      #expect(try ledger.removeCommands(before: 0, keeping: 3, limit: 9) == 1)
      #expect(try ledger.commands(limit: 9).map(\.count) == [6, 5, 4])

      for (name, time) in [("a", Int64(1)), ("b", 1), ("c", 5)] {
        try ledger.add(DroppedChange(FieldChanges(), of: .save(name), .serverKept(), at: time))
      }
      for name in ["a", "c"] { try ledger.closeDropped(of: RecordKey(.one, name)) }
      #expect(try ledger.removeDropped(before: 5, limit: 9) == 2)
      #expect(try ledger.dropped(of: 0).map(\.key.name) == ["c"])
    }
  }

  @Test func `lists show edits laid over the mirror`() throws {
    try write { ledger in
      for name in ["edited", "deleted", "same"] { try ledger.put(.note(name), epoch: 1) }
      let edit = try ledger.insert(.save("edited"))
      var delete = QueuedOperation.save("deleted")
      delete.kind = .delete
      _ = try ledger.insert(delete)
      _ = try ledger.insert(.save("made", type: "Task"))

      let all = try ledger.records()
      #expect(try ledger.recordCount() == 3)
      #expect(all.map(\.record.key.name) == ["edited", "made", "same"])
      #expect(all.map(\.operation) == [edit, 3, nil])
      #expect(all.map(\.changeTag) == ["1", nil, "1"])
      #expect(all[0].record.fields["title"] == .string("save edited"))
      #expect(all[0].record.fields["kept"] == .int64(1))
      #expect(
        try ledger.records(mirrorOnly: true, offset: 1, limit: 1) == [
          RecordRow(record: .note("edited"), changeTag: "1", operation: nil, operationState: nil)
        ]
      )
      let page = { (key: RecordKey?, zone: ZoneKey?, type: String?) in
        try ledger.records(after: key, of: zone, type: type, limit: 2).map(\.record.key.name)
      }
      #expect(try page(nil, nil, nil) == ["edited", "made"])
      // What goes between two pages moves none of the others.
      #expect(try page(RecordKey(.one, "gone"), .one, nil) == ["made", "same"])
      #expect(try page(RecordKey(.one, "edited"), nil, "Note") == ["same"])
      #expect(try ledger.records(named: "deleted", mirrorOnly: false) == [])
      #expect(try ledger.records(named: "deleted", mirrorOnly: true).count == 1)
      #expect(
        try ledger.recordTotals() == [
          RecordTotal(zone: "one", type: "Note", count: 2), RecordTotal(zone: "one", type: "Task", count: 1),
        ]
      )
      #expect(try ledger.fieldTypes(of: "Note") == ["title": "STRING", "kept": "INT64"])
      // What was refused is no model for others, and the mirror knows better than the queue.
      var wrong = QueuedOperation.save("wrong")
      wrong.changes = FieldChanges(values: ["kept": .string("1"), "new": .string("1")])
      let refused = try ledger.insert(wrong)
      #expect(try ledger.fieldTypes(of: "Note") == ["title": "STRING", "kept": "INT64", "new": "STRING"])
      wrong = try #require(try ledger.operation(refused))
      wrong.apply(.failed(.rejected(code: "BAD_REQUEST", message: "no")))
      try ledger.update(wrong)
      #expect(try ledger.fieldTypes(of: "Note") == ["title": "STRING", "kept": "INT64"])
      try ledger.end(wrong, .discarded, .discarded(by: nil), now: 1)
      var secret = MirrorRecord.note("secret", type: "Secret")
      secret.fields = ["pin": .encrypted(.string("1")), "key": .encrypted(.bytes(Data([1])))]
      try ledger.put(secret, epoch: 1)
      #expect(try ledger.fieldTypes(of: "Secret") == ["pin": "ENCRYPTED_STRING", "key": "ENCRYPTED_BYTES"])
      #expect(try ledger.oldestOperation(in: .pending) == 100 && ledger.operationCount() == 3)
      #expect(
        try ledger.queueParts() == [
          QueuePart(state: .pending, zone: .one, type: "Note", count: 2, bytes: 20),
          QueuePart(state: .pending, zone: .one, type: "Task", count: 1, bytes: 10),
        ]
      )
      #expect(try ledger.queuedTypes(in: .one) == ["Note", "Task"])
    }
  }
}
