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
  /// The descriptors in this value: itself, or the elements of its list; nil for a value of another type.
  package var assets: [WireAsset]? {
    switch self {
    case .asset(let asset): return [asset]
    case .list(.asset, let elements):
      return elements.compactMap { element in
        if case .asset(let asset) = element { asset } else { nil }
      }
    default: return nil
    }
  }

  fileprivate var assetChecksums: [String?]? { assets?.map(\.fileChecksum) }

  /// Returns the same value with the descriptors at some positions replaced.
  package func replacingAssets(at places: [Int: WireAsset]) -> FieldValue {
    guard let assets else { return self }
    return replacingAssets(with: assets.enumerated().map { places[$0.offset] ?? $0.element })
  }

  /// Returns the same value with its descriptors replaced.
  package func replacingAssets(with assets: [WireAsset]) -> FieldValue {
    if case .list = self { return .list(.asset, assets.map(FieldValue.asset)) }
    return assets.first.map(FieldValue.asset) ?? self
  }
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
    let facts = try FileFacts(of: file)
    guard facts.size <= Self.largestFile else {
      throw CKError(
        .limitExceeded,
        "The file \(file.lastPathComponent) has \(facts.size) bytes. An asset can have at most \(Self.largestFile)."
      )
    }
    return WireAsset(size: facts.size)
  }
}

/// The size, modification time and identity of a file, used to detect whether it changed.
struct FileFacts: Hashable {
  let size: Int64
  private let modified: [Int]
  private let identity: [UInt64]

  /// - Throws: `CKError.assetFileNotFound` if there is no regular file.
  init(of file: URL) throws(CKError) {
    var status = stat()
    guard file.isFileURL, stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw CKError(.assetFileNotFound, "The asset's file \(file.lastPathComponent) does not exist.")
    }
    size = Int64(status.st_size)
    modified = [Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec)]
    identity = [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}
