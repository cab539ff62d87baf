internal import Synchronization

extension CKRecord {
  /// The change of the parent since the last fetch or save: nil if unchanged, `.some(nil)` if removed.
  package var changedParent: CKRecordID?? {
    state.withLock { state in state.parentChanged ? .some(state.parent?.recordID) : nil }
  }
}
