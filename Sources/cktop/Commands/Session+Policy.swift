import CloudSync
import Facts

extension Session {
  /// Refuses a command with another conflict policy than the stored one.
  func refuseOtherPolicy(_ store: SyncStore) throws {
    let stored = try store.settings().policy
    guard let named = try settings.policy(), let stored, named.value != stored else { return }
    throw CommandFailure.usage(
      "\(named.source.place(of: .policy)) is '\(named.value.rawValue)', but the store has the conflict policy "
        + "'\(stored.rawValue)'; omit it, or replace the stored one with cktop sync --policy "
        + "\(named.value.rawValue) --set-policy"
    )
  }

  /// Throws if there is no policy to replace the stored one with.
  func requirePolicy() throws(CommandFailure) {
    if try settings.policy() == nil {
      throw .usage("--set-policy needs a policy to store; name one with --policy")
    }
  }
}
