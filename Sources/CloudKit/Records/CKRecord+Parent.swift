internal import Synchronization

extension CKRecord {
  /// The parent where it was set or removed since the last fetch or save: nil where it was left alone, nil inside where it
  /// was removed.
  package var changedParent: CKRecordID?? {
    state.withLock { state in state.parentChanged ? .some(state.parent?.recordID) : nil }
  }
}
