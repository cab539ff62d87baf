internal import Synchronization

extension CKRecord {
  /// The change of the parent since the last fetch or save: nil if unchanged, `.some(nil)` if removed.
  package var changedParent: CKRecordID?? {
    state.withLock { state in state.parentChanged ? .some(state.parent?.recordID) : nil }
  }

  /// Sets the parent, or its absence, as a change, whatever the record had before.
  package func decideParent(_ parent: CKReference?) {
    self.parent = parent
    state.withLock { $0.parentChanged = true }
  }
}
