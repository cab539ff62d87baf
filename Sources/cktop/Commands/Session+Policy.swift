import CloudSync

extension Session {
  /// Refuses a command that names another conflict policy than the store keeps.
  func refuseOtherPolicy(_ store: SyncStore) throws {
    let stored = try store.settings().policy
    guard let named = try settings.policy(), let stored, named.value != stored else { return }
    throw CommandFailure.usage(
      "\(named.source.place(of: .policy)) is '\(named.value.rawValue)', but the store keeps the conflict policy "
        + "'\(stored.rawValue)'; leave it out, or replace the stored one with cktop sync --policy "
        + "\(named.value.rawValue) --set-policy"
    )
  }

  /// Refuses to replace the stored conflict policy where none is named.
  func requirePolicy() throws(CommandFailure) {
    if try settings.policy() == nil {
      throw .usage("--set-policy needs a policy to store; name one with --policy")
    }
  }
}
