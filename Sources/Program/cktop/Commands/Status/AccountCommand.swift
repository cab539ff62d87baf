import ArgumentParser
import CloudKit
import CloudSync
import Facts

/// `cktop account`.
struct AccountCommand: Verb {
  static let configuration = CommandConfiguration(
    commandName: "account",
    abstract: "Show the account, its permissions and when its credential expires.",
    discussion: "Asks the server. Exit codes: 0 available, 3 a person is needed, 5 the server cannot be reached."
  )

  @Flag(help: .json("Print one JSON object.", AccountState.longFields.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let scope = try session.scope()
    let credential = try session.credentialName()
    let answer = await session.user(try session.client(scope), scope)
    let account = AccountState(answer, credential: credential, database: scope.database)
    if json {
      OutputFile.standard.line(AccountState.longFields.object(account).line)
    } else {
      OutputFile.standard.lines(lines(account).map(\.visible))
    }
    if case .failure(let error) = answer { throw error.failure }
    try refuseWrongAccount(account.user, try session.storeIfMade())
  }

  private func refuseWrongAccount(_ user: String?, _ store: SyncStore?) throws {
    guard let store else { return }
    guard let user else { return try store.check(Sender(user: SyncStore.anonymous)) }
    guard let owner = try store.owner(), owner != user, owner != SyncStore.anonymous else { return }
    throw CommandFailure(
      "the store \(store.path) belongs to \(owner), not to \(user); choose another with --store",
      .personNeeded
    )
  }

  private func lines(_ account: AccountState) -> [String] {
    [
      "Status       \(account.words)",
      "User         \(account.user ?? (account.status == .available ? "none" : "unknown"))",
      "Credential   \(Words.credential(account.credential))",
      "Permissions  \(account.permissions?.joined(separator: ", ") ?? "not reported by the server")",
      "Expires      not reported by the server",
      "Detail       \(account.detail)",
    ]
  }
}
