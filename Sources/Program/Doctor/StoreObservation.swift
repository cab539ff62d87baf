import CloudKit
import CloudKitSchema
import CloudSync
import Facts
import Foundation

/// The store's files, what is in them, and who syncs it.
struct StoreObservation: Sendable {
  /// The contents of a store that can be read.
  struct Content: Sendable {
    var status: StoreStatus
    var zones: [ZoneRow]
    var failedForPerson = 0
    var hasCredential = true
    /// Why the contents are damaged or could not be checked; nil if they are sound.
    var fault: CommandFailure?
    /// Rows that cannot be read, or could not.
    var damage = SyncStore.Damage()
    /// Why a try to write failed; nil if it did not.
    var unwritable: CommandFailure?
    var database = DatabaseName.private
    /// The problems of the data with the given schema.
    var refused: [CKSchema.Problem] = []
  }

  /// Nil if no store is named, or if its path depends on a user whom only the server knows.
  var path: String?
  /// Whether a schema was given.
  var hasSchema = false
  /// The user that looks.
  var user = ""
  /// The user of the credential, as the server named it; nil if it did not.
  var caller: String?
  var files: SyncStore.Files?
  /// Why the store cannot be read.
  var failure: CommandFailure?
  var content: Content?
  /// The process that syncs it or did so last, as the system shows it; nil if it is not there.
  var process: ProcessFacts?
  /// Whether the process that syncs ran on this machine.
  var isOnThisMachine = true
  var format = Format()
}

extension StoreObservation {
  /// The bytes of free space under which it is time to look after the disk.
  private static let lowSpace: UInt64 = 100_000_000
  /// Four times the size at which SQLite merges the log.
  private static let longLog = 64_000_000
  private static let waiting = "a process waits until the store can be written, and then syncs"

  var findings: [Finding] {
    if let failure {
      // A wrong setting has a line of its own.
      let reason = failure.status == .usage ? "the settings name no store" : "the store cannot be read"
      let store = failure.status == .usage ? Finding.notTried(.store, reason) : Finding(.store, failure)
      return zones([]) + schema + [store] + unknown(reason)
    }
    guard let path, let files, let content else {
      let text = path.map { "there is no store yet at \($0)" } ?? "no store is known for this sign-in yet"
      let missing = Finding.warning(.store, text, "nothing is queued here", "run cktop sync to make it")
      return zones([]) + schema + [missing] + unknown("there is no store yet")
    }
    let what = "\(path): version \(SyncStore.schemaVersion), \(Format.bytes(files.bytes))"
    let records = Words.count(content.status.recordCount, "record")
    let store = Finding.ok(.store, "\(what), \(records), \(Words.count(content.status.queue.total, "queued change"))")
    return zones(content.zones) + schema + [store] + integrity(content) + [disk(files), log(files), owner(path, files)]
      + wrongAccount(content.status) + verdicts(content) + [syncing(content.status)]
  }

  private func unknown(_ reason: String) -> [Finding] {
    let checks: [Finding.Check] = [.integrity, .disk, .log, .owner, .sync, .process]
    return checks.map { check in
      if check == .disk, let files { return disk(files) }
      return .notTried(check, reason)
    }
  }

  private func integrity(_ content: Content) -> [Finding] {
    if let fault = content.fault { return [Finding(.integrity, fault)] }
    let damage = content.damage
    func problem(_ count: Int, _ text: String, _ meaning: String, _ remedy: String) -> [Finding] {
      count > 0 ? [.problem(.integrity, text, meaning, remedy, status: .personNeeded)] : []
    }
    // Changes that were set aside have failed, which the verdict says.
    let findings =
      problem(
        damage.rows,
        "\(Words.count(damage.rows, "row")) cannot be read, the first is \(damage.first ?? "unknown")",
        "the next sync sets a queued change aside, and fetches a record again",
        "run cktop sync, and cktop verify --repair if it stays"
      )
      + problem(
        damage.lost,
        "\(Words.count(damage.lost, "change")) lost with a damaged row, whose record was edited since",
        "the lost change is not sent",
        "make it again where it is missing, and run cktop conflicts dropped --seen"
      )
      + problem(
        damage.records,
        "\(Words.count(damage.records, "record")) of the local copy damaged and set aside",
        "the next sync fetches what the server has",
        "run cktop sync"
      )
    return findings.isEmpty ? [.ok(.integrity, "SQLite finds no damage, and every row can be read")] : findings
  }

  private func disk(_ files: SyncStore.Files) -> Finding {
    guard let free = files.freeBytes else { return .notTried(.disk, "the free space is not known") }
    // A process may see another file system than this one, and report its trouble.
    if let trouble = files.trouble ?? content?.status.storageTrouble {
      return .problem(.disk, trouble.sentence, status: .personNeeded)
    }
    if let failure = content?.unwritable { return Finding(.disk, failure) }
    let text =
      "\(Format.bytes(Int(clamping: free))) are free for the store\(content == nil ? "" : ", and it can be written")"
    guard free < Self.lowSpace else { return .ok(.disk, text) }
    return .warning(.disk, text, "when it is full, nothing is sent, fetched or accepted", "free some space")
  }

  private func log(_ files: SyncStore.Files) -> Finding {
    let text = "the write-ahead log has \(Format.bytes(files.logBytes))"
    guard files.logBytes > Self.longLog else { return .ok(.log, text) }
    let meaning = "a program that reads for long keeps it from being merged, and reading gets slow"
    return .warning(.log, text, meaning, "end programs that have the store open for long")
  }

  private func owner(_ path: String, _ files: SyncStore.Files) -> Finding {
    let mode = String(files.mode, radix: 8)
    if files.mode & 0o077 != 0 {
      return .warning(
        .owner,
        "other users can access the store (mode \(mode))",
        nil,
        "run chmod 600 \(path.asArgument)"
      )
    }
    guard let owner = files.owner, owner != user else {
      return .ok(.owner, "the store belongs to \(files.owner ?? user), mode \(mode)")
    }
    let meaning = "files that user \(user) makes beside it may lock \(owner) out"
    return .warning(
      .owner,
      "the store belongs to user \(owner)",
      meaning,
      "run cktop as its owner, with sudo -u \(owner)"
    )
  }

  /// Another user than the store's, before a sync is refused for it.
  private func wrongAccount(_ status: StoreStatus) -> [Finding] {
    guard let caller, let owner = status.identity, !status.isRefused, caller != owner, !status.isAnonymous else {
      return []
    }
    let isAnonymous = caller == SyncStore.anonymous
    return [
      .problem(
        .owner,
        "the store is that of \(owner), and \(isAnonymous ? "no user is signed in" : "the credential that of \(caller)")",
        "nothing is sent from it",
        "use the credential of \(owner), or another store with --store",
        status: .personNeeded
      )
    ]
  }

  // MARK: - Zones

  private func zones(_ zones: [ZoneRow]) -> [Finding] {
    guard let now = content?.status.generatedAt else { return [.notTried(.zones, "there is no local copy")] }
    let tokens = zones.compactMap(\.tokenAt)
    let oldest = tokens.min().map { ", the oldest from \(format.time($0, now: now))" } ?? ""
    let count = Words.count(zones.count, "zone")
    if let lost = changesWithoutZone { return [lost] }
    return [.ok(.zones, "\(count) in the local copy, \(Words.count(tokens.count, "change token"))\(oldest)")]
  }

  /// Changes of the default zone in a shared database, which has none; nil if there are none.
  private var changesWithoutZone: Finding? {
    guard let content, content.database == .shared else { return nil }
    let parts = content.status.queue.parts.filter { $0.zone.isDefaultZone && $0.zone.owner.isEmpty }
    let count = parts.reduce(0) { $0 + $1.count }
    guard count > 0 else { return nil }
    let zone = ZoneKey.defaultZone.zone
    return .problem(
      .zones,
      "\(Words.changes(count, "wait")) in zone \(zone), which the shared database does not have",
      "the server cannot take \(count == 1 ? "it" : "them"): a shared record is in a zone of its owner",
      "run cktop queue discard --where \"zone = '\(zone)'\", and make the change again in a zone that cktop zones list shows"
    )
  }

  private var schema: [Finding] {
    guard hasSchema else { return [] }
    guard let refused = content?.refused else { return [.notTried(.schema, "there is no local copy")] }
    guard let first = refused.first else { return [.ok(.schema, "it has everything that this machine uses")] }
    let more = refused.count > 1 ? ", and \(Words.count(refused.count - 1, "more problem"))" : ""
    return [.problem(.schema, "\(first)\(more)", "a server with it refuses that", "run cktop schema check FILE")]
  }

  // MARK: - Syncing

  /// The verdicts, but for those that a check of its own reports.
  private func verdicts(_ content: Content) -> [Finding] {
    let status = content.status
    let all = status.verdicts(hasCredential: content.hasCredential).all.filter { verdict in
      if case .notSyncing(_, _, .some) = verdict { return false }
      return verdict.kind != .storeFull
    }
    return all.map { verdict in
      let text = verdict.sentence(format, now: status.generatedAt)
      let remedy = verdict.nextStep.map { "run \($0)" }
      let code = content.failedForPerson > 0 && verdict.kind == .failed ? .personNeeded : verdict.status
      if code != .done { return .problem(.sync, text, nil, remedy, status: code) }
      return verdict.urgency == .fine ? .ok(.sync, text) : .warning(.sync, text, nil, remedy)
    }
  }

  private func syncing(_ status: StoreStatus) -> Finding {
    guard let holder = status.syncingProcess else {
      return .ok(.process, status.isStorageAwaited ? Self.waiting : "no process has synced this store yet")
    }
    let now = status.generatedAt
    let what = [holder.program, process?.unit, isOnThisMachine ? nil : "on \(holder.host)"].compactMap(\.self)
    let name = "process \(holder.pid)\(what.isEmpty ? "" : " (\(what.joined(separator: ", ")))")"
    guard holder.isLive || holder.stalledSince != nil else {
      if status.isStorageAwaited { return .ok(.process, Self.waiting) }
      return .ok(.process, "no process is syncing now; the last was \(name)")
    }
    let lease = holder.leaseEndsAt.flatMap { $0 < now ? "; its lease ended \(Format.ago($0, now: now))" : nil } ?? ""
    if process?.isStopped == true {
      return idle(
        "\(name) holds the lock of the store but is stopped\(lease)",
        "run kill -CONT \(holder.pid) to continue it, or kill -KILL \(holder.pid) to end it"
      )
    }
    if let since = holder.stalledSince {
      let remedy = process?.unit.map { "run systemctl restart \($0)" } ?? "end it and start it again"
      return idle("\(name) has not moved since \(format.time(since, now: now))\(lease)", remedy)
    }
    let since = holder.since.map { " since \(format.time($0, now: now))" } ?? ""
    return .ok(.process, "\(name) is syncing\(since)")
  }

  private func idle(_ text: String, _ remedy: String) -> Finding {
    .problem(.process, text, "nothing is synced", remedy, status: .personNeeded)
  }
}

extension StoreObservation {
  /// Looks at the store of a session. Changes nothing in it: a try to write is taken back.
  ///
  /// - Parameter schema: the schema to compare with what it has; nil for none.
  init(of session: StoreSession<some StoreSettings>, _ schema: CKSchema?) {
    hasSchema = schema != nil
    path = session.storePath
    user = NSUserName()
    files = path.flatMap(SyncStore.files)
    do {
      guard let store = try session.storeIfMade() else { return }
      let reader = session.reader(store)
      var content = try reader.view { view in
        Content(status: try view.status(), zones: try view.zones(), failedForPerson: try view.failuresForPerson())
      }
      content.hasCredential = content.status.accepts(try? session.credentialName())
      content.refused = try schema?.problems(of: store.schemaUsage()) ?? []
      content.database = store.scope.database
      do throws(StoreError) {
        try store.checkContents()
        content.damage = try store.damage()
      } catch {
        content.fault = error.failure
      }
      if files?.trouble == nil, content.status.storageTrouble == nil {
        do throws(StoreError) { try SyncStore.tryWriting(toStoreAt: store.path) } catch {
          content.unwritable = error.failure
        }
      }
      self.content = content
      guard let holder = content.status.syncingProcess else { return }
      isOnThisMachine = holder.host == ProcessInfo.processInfo.hostName
      process = isOnThisMachine ? ProcessFacts(of: holder.pid) : nil
    } catch {
      failure = CommandFailure(error) ?? CommandFailure("\(error)", .storeUnusable)
    }
  }
}
