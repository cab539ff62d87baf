/// How a command ended, as its exit code tells scripts.
///
/// Not named `ExitCode` or `ExitStatus`: ArgumentParser and Testing have those, and they would meet in every file.
enum CommandStatus: Int32, CaseIterable, Hashable, Sendable {
  /// Done; for `status`: in sync or on the way.
  case done = 0
  /// Done, with failures among the items, each of them listed; for `verify`: differences.
  case itemsFailed = 1
  /// The command, an option or an expression is wrong.
  case usage = 2
  /// Authentication, permission, quota or unresolved conflicts.
  case personNeeded = 3
  /// The store cannot be opened or is damaged; nothing was changed.
  case storeUnusable = 4
  /// The cloud could not be reached, or a server's wait leaves rows.
  case cloudUnreachable = 5

  /// The one to report where several apply. A wrong command has done nothing else, so it comes first.
  static func combined(_ statuses: some Sequence<CommandStatus>) -> CommandStatus {
    let present = Set(statuses)
    let order: [CommandStatus] = [.usage, .storeUnusable, .personNeeded, .cloudUnreachable, .itemsFailed]
    return order.first(where: present.contains) ?? .done
  }
}
