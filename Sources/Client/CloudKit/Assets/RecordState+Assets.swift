internal import Foundation

extension StoredField {
  /// The assets of this field: itself, or the elements of its list.
  var assets: [CKAsset] {
    switch wire {
    case nil, .asset, .list(.asset, _):
      if let asset = object as? CKAsset { return [asset] }
      guard let array = object as? NSArray else { return [] }
      return array.compactMap { $0 as? CKAsset }
    default: return []
    }
  }

  /// Whether one of its assets has a local file.
  var holdsFiles: Bool { assets.contains { $0.localFile != nil } }

  /// Returns this field of a reply with the local files of the sent field, since the reply contains only descriptors.
  ///
  /// If the field was not sent, the files are kept only if the checksums match: the server may hold other bytes.
  func keepingFiles(of sent: StoredField) -> StoredField {
    guard sent.holdsFiles, sent.assets.count == assets.count,
      sent.wire == nil || sent.wire?.assetChecksums == wire?.assetChecksums
    else { return self }
    return StoredField(object: sent.object, wire: wire)
  }
}

extension FieldValue {
  fileprivate var assetChecksums: [String?]? { assets?.map(\.fileChecksum) }
}

extension RecordState {
  /// All assets in the record.
  var assets: [CKAsset] { fields.values.flatMap(\.assets) }

  /// Records in each asset from the server the field that it was read from.
  func noteOrigins(recordName: String, zoneID: CKRecordZoneID) {
    for (key, field) in fields where field.wire?.assets != nil {
      let origin = CKAsset.Origin(recordID: CKRecordID(recordName: recordName, zoneID: zoneID), key: key)
      for asset in field.assets { asset.wasRead(at: origin) }
    }
  }

  /// Returns this state with placeholder descriptors for assets that must still be sent: with the size of the file, or
  /// the checksum and size that the server returned before. The upload provides the final descriptors.
  ///
  /// - Throws: `CKError.assetFileNotFound` or `limitExceeded` if a file cannot be sent.
  func announcingAssets(in keys: [String]) throws(CKError) -> RecordState {
    var result = self
    for key in keys {
      guard let field = fields[key], field.wire == nil else { continue }
      let assets = field.assets
      guard !assets.isEmpty else { continue }
      guard let array = field.object as? NSArray else {
        result.fields[key] = StoredField(object: field.object, wire: .asset(try assets[0].announcement()))
        continue
      }
      // A list that contains other values is refused later, with all values that no field type can hold.
      guard array.count == assets.count else { continue }
      var elements: [FieldValue] = []
      for asset in assets { elements.append(.asset(try asset.announcement())) }
      result.fields[key] = StoredField(object: array, wire: .list(.asset, elements))
    }
    return result
  }
}

extension CKAsset {
  /// The maximum size of one asset in Web Services, in bytes (reference 4).
  package static let largestFile: Int64 = 50 << 20

  fileprivate func announcement() throws(CKError) -> WireAsset {
    if let wire { return WireAsset(fileChecksum: wire.fileChecksum, size: wire.size) }
    guard let file = localFile else {
      throw CKError(.assetNotAvailable, "The asset has neither a file nor a descriptor.")
    }
    let facts = try FileFacts(ofAsset: file)
    guard facts.size <= Self.largestFile else {
      throw CKError(
        .limitExceeded,
        "The file \(file.lastPathComponent) has \(facts.size) bytes. An asset can have at most \(Self.largestFile)."
      )
    }
    return WireAsset(size: facts.size)
  }
}
