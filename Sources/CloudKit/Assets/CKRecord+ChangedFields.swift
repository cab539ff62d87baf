internal import Synchronization

/// Where the bytes of an asset are that is to be saved: in a file, on the server, or both.
package struct AssetSource: Hashable, Sendable {
  package var file: URL?
  /// The field of a record of the same zone that holds the bytes already.
  package var place: WireAssetPlace?
  /// What the server called the bytes; nil for a file that it has not seen.
  package var checksum: String?
  package var size: Int64?

  package init(file: URL) { self.file = file }

  init(_ asset: CKAsset, in zoneID: CKRecordZoneID) {
    file = asset.localFile
    (checksum, size) = (asset.wire?.fileChecksum, asset.wire?.size)
    guard let origin = asset.origin, origin.recordID.zoneID == zoneID, checksum != nil else { return }
    place = WireAssetPlace(recordName: origin.recordID.recordName, fieldName: origin.key)
  }
}

extension CKRecord {
  /// What was set and cleared since the last fetch or save, for a save that comes later.
  package struct ChangedFields: Sendable {
    /// Assets among them stand as descriptors that cannot be saved yet.
    package var set: [String: FieldValue]
    package var cleared: Set<String>
    /// For each field with such descriptors, where their bytes are, in the order of the field.
    package var assets: [String: [AssetSource]]
    /// These fields as they were read, or handed to a queue before; nil for a record that was only made here. An asset that
    /// the server has not named yet is left out.
    package var base: [String: FieldValue?]?
    /// The change tag that was read.
    package var changeTag: String?
    /// Of a record that was read, or handed to a queue before, the other fields, without assets.
    package var unchanged: [String: FieldValue]
    fileprivate let state: RecordState
  }

  /// The fields that were set since the last fetch or save, and the names of those that were cleared.
  ///
  /// - Throws: `CKError.invalidArguments` for a value that the wire cannot carry; `assetFileNotFound`, `limitExceeded` for
  ///   an asset that cannot be sent.
  package func changedFields() throws(CKError) -> ChangedFields {
    let state = state.withLock { $0 }
    let keys = Array(state.changedKeys)
    let zoneID = recordID.zoneID
    var assets: [String: [AssetSource]] = [:]
    for key in keys {
      guard let field = state.fields[key], field.wire == nil, !field.assets.isEmpty else { continue }
      assets[key] = field.assets.map { AssetSource($0, in: zoneID) }
    }
    return ChangedFields(
      set: try state.announcingAssets(in: keys).wireFields(keys: keys, zoneID: zoneID),
      cleared: state.changedKeys.filter { state.fields[$0] == nil },
      assets: assets,
      base: try state.ancestor.map { ancestor throws(CKError) in
        var read = state
        read.fields = ancestor
        let spelled = keys.filter { key in ancestor[key].map { $0.wire != nil || $0.assets.isEmpty } ?? true }
        let values = try read.wireFields(keys: spelled, zoneID: zoneID)
        return Dictionary(uniqueKeysWithValues: spelled.map { ($0, values[$0]) })
      },
      changeTag: state.changeTag,
      unchanged: state.ancestor == nil && state.changeTag == nil
        ? [:]
        : try state.wireFields(
          keys: state.fields.filter { $0.value.assets.isEmpty && !state.changedKeys.contains($0.key) }.map(\.key),
          zoneID: zoneID
        ),
      state: state
    )
  }

  /// Counts fields as set or cleared, and the parent as set, since the record was as another instance has it.
  ///
  /// - Parameter ancestor: the record as it was read; nil for one that was only made here.
  package func countAsChanged(_ names: Set<String>, parent: Bool, since ancestor: CKRecord?) {
    let read = ancestor.map { $0.state.withLock { $0.fields } }
    state.withLock { state in
      (state.ancestor, state.changedKeys, state.parentChanged) = (read, names, parent)
      state.edits += 1
    }
  }

  /// Takes changes that a queue has accepted as made: the next ones are made on top of them.
  package func accept(_ queued: ChangedFields) {
    var accepted = queued.state
    (accepted.ancestor, accepted.changedKeys, accepted.parentChanged) = (accepted.fields, [], false)
    state.withLock { $0 = $0.accepting(accepted, sent: queued.state) }
  }
}
