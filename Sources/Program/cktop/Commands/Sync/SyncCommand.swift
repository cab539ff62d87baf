import ArgumentParser
import CloudKit
import CloudService
import CloudSync
import Facts
import Foundation

/// `cktop sync`.
struct SyncCommand: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Send everything that can be sent now, then fetch all changes.",
    discussion: """
      If another process is syncing the store, that process is asked to sync, and its result is reported. The public \
      database has no change feed: name the record types to fetch once with --types; they are remembered.

      --watch shows a progress bar on a terminal. Elsewhere it logs to standard error: one line for each error, merge, \
      zone change, command, retry, change of the syncing process and change of the overall state. It waits for a disk \
      that is full, read-only or not mounted, and says so.

      While the server denies access to a record type, or rejects its queries for lack of indexes, the store is not in \
      sync and the exit code is 3. --watch exits with 4 when its store or the store's lock file is deleted or replaced.

      The first sync saves the conflict policy in the store, and every process uses it. A sync with another policy is \
      refused unless --set-policy is given.

      If an app approves changes or resolves conflicts itself, this command leaves those changes to the app. \
      --without-app sends them anyway and resolves the conflicts by the policy.

      A store belongs to one user. Changes that were queued by another user, or with another sign-in before the first \
      sync, are not sent; --adopt takes over the store and sends them.

      Exit codes: 0 done, 1 some items failed, 2 another policy is stored, 3 a person is needed or changes wait for \
      the app, 4 the store is unusable, 5 the cloud could not be reached, or throttling left changes unsent.
      """
  )

  @Flag(help: "Keep syncing until stopped.") var watch = false
  @Option(
    help: ArgumentHelp(
      "Record types to fetch where there is no change feed: the public database and default zones.",
      valueName: "A,B"
    ),
    completion: .recordTypes
  )
  var types: String?
  @Flag(help: "Replace the stored conflict policy with the one given.") var setPolicy = false
  @Flag(help: "Send changes and resolve conflicts that wait for an app.") var withoutApp = false
  @Flag(help: "Take over a store with changes of another user, and send them.") var adopt = false
  @Flag(help: .json("Print the summary as a JSON object.", SyncReport.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func command(_ store: SyncStore) -> ServiceCommand { watch ? .keepSyncing : .sync }

  func run(_ session: Session) async throws {
    let types = try typeNames()
    if setPolicy { try session.requirePolicy() }
    let store = try await watch ? storeToWatch(session) : session.storeToChange(toSync: true)
    if adopt { try refuseAdoption(session, store) }
    if !setPolicy { try session.refuseOtherPolicy(store) }
    guard try !withoutApp || isReleaseMeant(store) else { return }
    let engine = try session.engine(store, takesOver: adopt, replacesPolicy: setPolicy)
    if watch {
      try await keepSyncing(engine, store, types, session)
    } else {
      try await syncOnce(engine, store, types, session)
    }
  }

  /// Throws if no user is signed in, or if another process is syncing the store.
  private func refuseAdoption(_ session: Session, _ store: SyncStore) throws {
    if try session.identity() == SyncStore.anonymous {
      throw CommandFailure(
        "no user is signed in to take over the store; set CLOUDKIT_WEB_AUTH_TOKEN to the user's token",
        .personNeeded
      )
    }
    if let process = try store.status().syncingProcess, process.isLive {
      throw CommandFailure("process \(process.pid) is syncing the store \(store.path); stop it first", .personNeeded)
    }
  }

  private func typeNames() throws(CommandFailure) -> [String] {
    let names = (types ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    for name in names {
      let problem = NameRule.recordTypeProblem(name, remedy: "list types as in --types Task,Note")
      if let problem { throw .usage(problem) }
    }
    return names
  }

  /// Asks whether to release what waits for the app. Off a terminal, the flag is the answer.
  private func isReleaseMeant(_ store: SyncStore) throws -> Bool {
    let (saves, conflicts) = try store.waitingForApp()
    guard saves + conflicts > 0, Confirmation.canBeAsked else { return true }
    let decided = conflicts > 0 ? " and resolve \(conflicts) \(conflicts == 1 ? "conflict" : "conflicts")" : ""
    return Confirmation.ask("Send \(saves) \(saves == 1 ? "save" : "saves")\(decided) without the app?")
  }

  // MARK: - One sync

  private func syncOnce(_ engine: SyncEngine, _ store: SyncStore, _ types: [String], _ session: Session) async throws {
    let startedAt = SyncStore.currentTime
    let bar = ProgressBar.start(store)
    let result: Result<SyncSummary, any Error>
    do {
      result = .success(try await engine.syncOnce(types: types, isWithoutApp: withoutApp))
    } catch {
      result = .failure(error)
    }
    await bar?.stop()
    let summary = try identityChecked(result, session)
    let reader = session.reader(store)
    let end = try SyncReport(summary, startedAt: startedAt, reader)
    OutputFile.standard.line(session.redaction.redact(json ? end.json.line : end.line.visible))
    if store.knowsNoTypes, end.failure == nil {
      OutputFile.error.line(
        "cktop: no record types are known, so nothing was fetched; name them with --types A,B"
      )
    }
    for type in summary.unknownTypes where types.contains(type) {
      OutputFile.error.line("cktop: the server has no record type \(type) yet; check the name".visible)
    }
    if let failure = end.failure { failure.report() }
    if setPolicy, try store.settings().policy != session.settings.policy()?.value {
      OutputFile.error.line(
        "cktop: the policy was not replaced, because the server did not confirm the store's user; try again"
      )
    }
    try end.reportRest(reader, since: startedAt)
    try end.status.end()
  }

  private func identityChecked<Value>(_ result: Result<Value, any Error>, _ session: Session) throws -> Value {
    do {
      return try result.get()
    } catch let error as StoreError where error.kind == .otherUser {
      throw session.failure(ofOtherUser: error)
    }
  }

  // MARK: - Until stopped

  /// Opens the store, and waits for a disk that is full, read-only or failing: a service must not end for it.
  private func storeToWatch(_ session: Session) async throws -> SyncStore {
    var reported: (message: String, wait: (any EngineLock)?)?
    while true {
      do {
        return try await session.storeToChange(toSync: true)
      } catch let error as StoreError where error.isTransient {
        if reported?.message != error.message {
          JournalWriter.write("storage", error.message)
          let path = session.storePath ?? session.settings.store?.value
          reported = (error.message, path.flatMap { SyncStore.reportWait(forStoreAt: $0, error) })
        }
        try await Task.sleep(for: .seconds(2))
      }
    }
  }

  private func keepSyncing(_ engine: SyncEngine, _ store: SyncStore, _ types: [String], _ session: Session) async throws
  {
    let driving = Task {
      try await engine.syncContinuously(types: types, isWithoutApp: withoutApp) { error in
        JournalWriter.write("storage", error?.message ?? "the store can be used again")
      }
    }
    let signals = StopSignals { driving.cancel() }
    let bar = ProgressBar.start(store)
    let journal = bar == nil ? JournalWriter(session.reader(store)) : nil
    let result = await driving.result
    await bar?.stop()
    await journal?.stop()
    signals.end()
    try identityChecked(result, session)
  }
}
