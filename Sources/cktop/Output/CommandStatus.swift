/// The exit code of a command.
///
/// Not named `ExitCode` or `ExitStatus`: ArgumentParser and Testing have types of these names.
enum CommandStatus: Int32, CaseIterable, Hashable, Sendable {
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
  static func combined(_ statuses: some Sequence<CommandStatus>) -> CommandStatus {
    let present = Set(statuses)
    let order: [CommandStatus] = [.usage, .storeUnusable, .personNeeded, .cloudUnreachable, .itemsFailed]
    return order.first(where: present.contains) ?? .done
  }
}
