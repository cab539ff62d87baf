/// The exit code of a command.
///
/// Not named `ExitCode` or `ExitStatus`: ArgumentParser and Testing have types of these names.
package enum CommandStatus: Int32, CaseIterable, Hashable, Sendable {
  /// Done; for `status`: in sync or on the way.
  case done = 0
  /// Done, but some items failed, each of them listed; for `verify`: differences.
  case itemsFailed = 1
  /// The command, an option or an expression is wrong.
  case usage = 2
  /// A person is needed: authentication, permission, quota or unresolved conflicts.
  case personNeeded = 3
  /// The store cannot be opened or is damaged; nothing was changed.
  case storeUnusable = 4
  /// The cloud could not be reached, or throttling left changes unsent.
  case cloudUnreachable = 5

  /// The status to report if several apply. Usage errors come first: such a command did nothing else.
  package static func combined(_ statuses: some Sequence<CommandStatus>) -> CommandStatus {
    let present = Set(statuses)
    let order: [CommandStatus] = [.usage, .storeUnusable, .personNeeded, .cloudUnreachable, .itemsFailed]
    return order.first(where: present.contains) ?? .done
  }
}

extension Verdict {
  /// The exit code of a problem; the other verdicts have none.
  package var status: CommandStatus {
    switch self {
    case .unreadable: .storeUnusable
    case .storeFull, .wrongAccount, .signedOut, .decisionNeeded, .blocked, .notSyncing, .conflicts, .waitingForApp:
      .personNeeded
    case .failed: .itemsFailed
    case .paused, .offline, .sending, .throttled, .retrying, .partlyPaused, .inSync, .fetching,
      .neverSynced, .outOfDate:
      .done
    }
  }

  /// Whether it is a problem only for as long as changes are unsent because of it: another process may sync them yet.
  package var isJudgedByAge: Bool {
    switch self {
    case .signedOut(_, let lacksCredential): lacksCredential
    case .notSyncing, .waitingForApp: true
    case .unreadable, .storeFull, .wrongAccount, .decisionNeeded, .blocked, .failed, .conflicts, .paused, .offline,
      .sending, .throttled, .retrying, .partlyPaused, .inSync, .fetching, .neverSynced, .outOfDate:
      false
    }
  }
}
