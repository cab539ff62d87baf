import ArgumentParser
import CloudKit
import CloudSync
import Foundation

/// `cktop sync`.
struct SyncCommand: Verb {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "A pass: sends all that can be sent, reads every feed to its end.",
    discussion: """
      With a live driver elsewhere, asks it for the pass and waits. The public database has no change feed: name the \
      record types to read once with --types, they are remembered.

      --watch tells on standard error, where no terminal shows its progress, what happens: a line for each error, merge, \
      zone and command, for what is tried again and who drives, and for what the engine has come to.

      A record type that may no longer be read is not in sync: the exit code is 3 until a query of it succeeds. --watch \
      ends with 4 when its store or the store's lock file is deleted or replaced.

      The first sync stores the conflict policy with the store, and every process keeps to it. A sync that names another \
      policy is refused, unless --set-policy replaces the stored one.

      Where an app must see changes before they are sent, or decides conflicts, this command leaves those changes for the \
      app. --without-app sends them all the same, and decides the conflicts by the policy.

      A store belongs to one user. Changes that were queued as another user, or with another sign-in before the first \
      sync, are not sent; --adopt takes the store over and sends them.

      Exit codes: 0 done, 1 failures among the items, 2 another policy is stored, 3 a person is needed or changes wait \
      for the app, 4 the store is unusable, 5 the cloud could not be reached or a server's wait leaves rows.
      """
  )

  @Flag(help: "Drive until stopped.") var watch = false
  @Option(
    help: ArgumentHelp(
      "Record types to read where there is no change feed: in the public database and in default zones.",
      valueName: "A,B"
    )
  )
  var types: String?
  @Flag(help: "Replace the stored conflict policy by the one that is named.") var setPolicy = false
  @Flag(help: "Release what waits for an app's decision.") var withoutApp = false
  @Flag(help: "Take over a store that another user's changes were queued in, and send them.") var adopt = false
  @Flag(help: "The summary as one JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let types = try typeNames()
    if setPolicy { try session.requirePolicy() }
    let store = try await session.storeToChange(toSync: true)
    if adopt { try refuseAdoption(session, store) }
    if !setPolicy { try session.refuseOtherPolicy(store) }
    guard try !withoutApp || isReleaseMeant(store) else { return }
    let engine = try session.engine(store, takesOver: adopt, replacesPolicy: setPolicy)
    if watch {
      try await drive(engine, store, types, session)
    } else {
      try await pass(engine, store, types, session)
    }
  }

  /// Refuses to take a store over without a user, and while another process syncs it as its user.
  private func refuseAdoption(_ session: Session, _ store: SyncStore) throws {
    if try session.identity() == SyncStore.nobody {
      throw CommandFailure(
        "no user is signed in who could take the store over; put the user's token into CLOUDKIT_WEB_AUTH_TOKEN",
        .personNeeded
      )
    }
    if let driver = try store.status().driver, driver.isLive {
      throw CommandFailure("process \(driver.pid) is syncing the store \(store.path); stop it first", .personNeeded)
    }
  }

  private func typeNames() throws(CommandFailure) -> [String] {
    let names = (types ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    if let stranger = names.first(where: { !NameRule.isFieldName($0) }) {
      throw .usage("'\(stranger)' is no record type; name types as in --types Task,Note")
    }
    return names
  }

  /// Asks a person whether what waits for the app is to be released; off a terminal the flag says so.
  private func isReleaseMeant(_ store: SyncStore) throws -> Bool {
    let (saves, conflicts) = try store.waitingForApp()
    guard saves + conflicts > 0, Question.canBeAsked else { return true }
    let decided = conflicts > 0 ? " and decide \(conflicts) \(conflicts == 1 ? "conflict" : "conflicts")" : ""
    return Question.ask("Send \(saves) \(saves == 1 ? "save" : "saves")\(decided) without the app?")
  }

  // MARK: - One pass

  private func pass(_ engine: SyncEngine, _ store: SyncStore, _ types: [String], _ session: Session) async throws {
    let startedAt = SyncStore.currentTime
    let bar = ProgressBar.start(store)
    let result: Result<PassSummary, any Error>
    do {
      result = .success(try await engine.syncOnce(types: types, isWithoutApp: withoutApp))
    } catch {
      result = .failure(error)
    }
    await bar?.stop()
    let summary = try identityChecked(result, session)
    let status = try store.status()
    let end = PassEnd(
      summary,
      status,
      startedAt: startedAt,
      failedForPerson: try store.failuresForPerson(),
      waitForCloud: try store.waitsForCloud()
    )
    OutputStream.standard.line(json ? end.json.line : end.line.visible)
    if store.knowsNoTypes, end.failure == nil {
      OutputStream.error.line(
        "cktop: no record type is known here, so nothing could be read; name some with --types A,B"
      )
    }
    for type in summary.unknownTypes where types.contains(type) {
      OutputStream.error.line("cktop: the server knows no record type \(type) yet; check its spelling".visible)
    }
    if let failure = end.failure { failure.report() }
    if setPolicy, try store.settings().policy != session.settings.policy()?.value {
      OutputStream.error.line(
        "cktop: the policy was not replaced, the server has not said whose the store is; try again"
      )
    }
    let dropped = try store.dropped().count { $0.at >= startedAt }
    if dropped > 0 {
      let what = dropped == 1 ? "1 change is" : "\(dropped) changes are"
      let remedy = "cktop conflicts dropped says why and what can be had back"
      OutputStream.error.line("cktop: \(what) not sent any more; \(remedy)")
    }
    try end.listFailures(store)
    try end.status.end()
  }

  private func identityChecked<Value>(_ result: Result<Value, any Error>, _ session: Session) throws -> Value {
    do {
      return try result.get()
    } catch let error as StoreError where error.kind == .otherUser {
      throw session.failure(ofStrangers: error)
    }
  }

  // MARK: - Until stopped

  private func drive(_ engine: SyncEngine, _ store: SyncStore, _ types: [String], _ session: Session) async throws {
    let driving = Task { try await engine.drive(types: types, isWithoutApp: withoutApp) }
    let signals = StopSignals { driving.cancel() }
    let bar = ProgressBar.start(store)
    let redactor = Redactor(session.settings, storePath: session.storePath)
    let journal = bar == nil ? JournalWriter(store, redactor) : nil
    let result = await driving.result
    await bar?.stop()
    await journal?.stop()
    signals.end()
    try identityChecked(result, session)
  }
}
