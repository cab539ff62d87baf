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

  /// Whether one of its assets has its file here.
  var holdsFiles: Bool { assets.contains { $0.localFile != nil } }

  /// This field of an answer, with the files that are here already: the answer has only descriptors.
  ///
  /// The server may hold other bytes than ours where the field was not sent.
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

  /// The same value with other descriptors in the places of its own.
  package func replacingAssets(with assets: [WireAsset]) -> FieldValue {
    if case .list = self { return .list(.asset, assets.map(FieldValue.asset)) }
    return assets.first.map(FieldValue.asset) ?? self
  }
}

extension RecordState {
  /// All assets of the record.
  var assets: [CKAsset] { fields.values.flatMap(\.assets) }

  /// Tells the assets that came off the wire where they were read.
  func noteOrigins(recordName: String, zoneID: CKRecordZoneID) {
    for (key, field) in fields where field.wire?.assets != nil {
      let origin = CKAsset.Origin(recordID: CKRecordID(recordName: recordName, zoneID: zoneID), key: key)
      for asset in field.assets { asset.wasRead(at: origin) }
    }
  }

  /// This state with descriptors in place of assets that have yet to be sent: the sizes of their files, or what the server
  /// once gave. The real ones come with the upload.
  ///
  /// - Throws: `CKError.assetFileNotFound`, `limitExceeded` where a file cannot be sent.
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
      // A list with other things in it is refused with all the others that no field type carries.
      guard array.count == assets.count else { continue }
      var elements: [FieldValue] = []
      for asset in assets { elements.append(.asset(try asset.announcement())) }
      result.fields[key] = StoredField(object: array, wire: .list(.asset, elements))
    }
    return result
  }
}

extension CKAsset {
  /// The most bytes that Web Services take for one asset (reference 4).
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
        "The file \(file.lastPathComponent) has \(facts.size) bytes: an asset takes \(Self.largestFile) at most."
      )
    }
    return WireAsset(size: facts.size)
  }
}

/// What tells whether a file is still the one that it was.
struct FileFacts: Hashable {
  let size: Int64
  private let modified: [Int]
  private let identity: [UInt64]

  /// - Throws: `CKError.assetFileNotFound` where there is no regular file.
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
