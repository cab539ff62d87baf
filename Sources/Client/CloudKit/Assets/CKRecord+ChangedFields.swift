internal import Synchronization

/// The location of the bytes of an asset to be saved: in a file, on the server, or both.
package struct AssetSource: Hashable, Sendable {
  package var file: URL?
  /// The field of a record in the same zone that already holds the bytes.
  package var place: WireAssetPlace?
  /// The checksum that the server gave the bytes; nil for a file that has not been uploaded.
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
  /// The fields set and cleared since the last fetch or save, for a later save.
  package struct ChangedFields: Sendable {
    /// The fields that were set. Assets among them are descriptors that cannot be saved yet.
    package var set: [String: FieldValue]
    package var cleared: Set<String>
    /// The locations of the bytes for each field with such descriptors, in the order of the field.
    package var assets: [String: [AssetSource]]
    /// The values of these fields as last fetched or handed to a queue; nil for a new record. Assets without a
    /// descriptor from the server are left out.
    package var base: [String: FieldValue?]?
    /// The change tag of the fetched record.
    package var changeTag: String?
    /// The other fields, without assets, of a record that was fetched or handed to a queue before.
    package var unchanged: [String: FieldValue]
    fileprivate let state: RecordState
  }

  /// Returns the fields that were set since the last fetch or save, and the names of those that were cleared.
  ///
  /// - Throws: `CKError.invalidArguments` for a value that the wire format cannot represent; `assetFileNotFound` or
  ///   `limitExceeded` for an asset that cannot be sent.
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

  /// Marks fields as set or cleared, and the parent as set, relative to the record as another instance holds it.
  ///
  /// - Parameter ancestor: The record as it was fetched; nil for a new record.
  package func countAsChanged(_ names: Set<String>, parent: Bool, since ancestor: CKRecord?) {
    let read = ancestor.map { $0.state.withLock { $0.fields } }
    state.withLock { state in
      (state.ancestor, state.changedKeys, state.parentChanged) = (read, names, parent)
      state.edits += 1
    }
  }

  /// Marks changes that a queue has accepted as saved, so that later changes are recorded relative to them.
  package func accept(_ queued: ChangedFields) {
    var accepted = queued.state
    (accepted.ancestor, accepted.changedKeys, accepted.parentChanged) = (accepted.fields, [], false)
    state.withLock { $0 = $0.accepting(accepted, sent: queued.state) }
  }
}
