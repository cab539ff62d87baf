public import Foundation
internal import Synchronization

/// A file that belongs to a record and is stored beside it.
///
/// Put an asset of a local file into a field and save the record: the save uploads the file from where it lies. A record
/// that is read comes with its assets downloaded to `fileURL`, unless the container's configuration asks for downloads on
/// demand; then `download()` brings the file.
///
/// A downloaded file is CloudKit's: it is removed when the last `CKAsset` that owns it is gone, some 30 seconds later where
/// its address was read. Copy or move what has to stay.
public final class CKAsset: NSObject, NSSecureCoding, NSCopying, CKRecordValue, Sendable {
  /// Where on the server an asset was read, from which it can be had again.
  struct Origin: Hashable, Sendable {
    let recordID: CKRecordID
    let key: String
  }

  private struct State: Sendable {
    var fileURL: URL?
    var owned: OwnedFile?
    var wire: WireAsset?
    var origin: Origin?
    var database: CKDatabase?
  }

  private let state: Mutex<State>

  private init(_ state: State) { self.state = Mutex(state) }

  /// Makes an asset of a local file, which has to stay as it is until the record is saved.
  public convenience init(fileURL: URL) { self.init(State(fileURL: fileURL)) }

  /// Makes an asset of bytes. They are kept in a file of CloudKit's own, which goes away with the asset.
  ///
  /// - Throws: Why the file could not be written.
  public convenience init(contents: Data) throws {
    let owned = try OwnedFile(in: AssetFolder.current(in: AssetFolder.Place()))
    try contents.write(to: owned.url)
    self.init(State(fileURL: owned.url, owned: owned))
  }

  package convenience init(wire: WireAsset) { self.init(State(wire: wire)) }

  /// The local file; nil for an asset that is on the server only.
  public var fileURL: URL? {
    let state = state.withLock { $0 }
    state.owned?.handOut()
    return state.fileURL
  }

  /// The local file, downloaded first where there is none.
  ///
  /// - Throws: `CKError.assetNotAvailable` when the server no longer has these bytes, or the asset does not come from a
  ///   record that was read in this process; else why it could not be downloaded.
  public func download() async throws -> URL {
    if let fileURL { return fileURL }
    guard let database = state.withLock({ $0.database }) else {
      throw CKError(.assetNotAvailable, "The asset comes from no database: fetch its record again.")
    }
    if let error = await database.download([self]).first { throw error.value }
    guard let fileURL else { throw CKError(.assetNotAvailable, "The server gives no address for the asset.") }
    return fileURL
  }

  /// Reads an archived asset. One that Apple's framework archived on the server only has neither file nor descriptor.
  public required init?(coder: NSCoder) {
    var state = State()
    state.wire = coder.object(NSData.self, forKey: "AssetDescriptor").flatMap {
      try? JSONDecoder().decode(WireAsset.self, from: Data(referencing: $0))
    }
    state.fileURL =
      coder.string(forKey: "AssetFilePath").map { URL(fileURLWithPath: $0) }
      // In an archive of Apple's.
      ?? coder.object(NSURL.self, forKey: "AssetFileURL").map { $0 as URL }
    if let recordID = coder.object(CKRecordID.self, forKey: "AssetRecordID"),
      let key = coder.string(forKey: "AssetFieldKey")
    {
      state.origin = Origin(recordID: recordID, key: key)
    }
    self.state = Mutex(state)
  }

  /// Archives the file's path and the descriptor, not the file.
  public func encode(with coder: NSCoder) {
    let state = state.withLock { $0 }
    if let fileURL = state.fileURL { coder.encode(NSString(string: fileURL.path), forKey: "AssetFilePath") }
    if let wire = state.wire, let data = try? JSONEncoder().encode(wire) {
      coder.encode(NSData(data: data), forKey: "AssetDescriptor")
    }
    if let origin = state.origin {
      coder.encode(origin.recordID, forKey: "AssetRecordID")
      coder.encode(NSString(string: origin.key), forKey: "AssetFieldKey")
    }
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The asset itself: two would not know when to remove their file.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// The file, or the size that the server reports.
  public override var description: String {
    let state = state.withLock { $0 }
    if let fileURL = state.fileURL { return "<CKAsset \(fileURL.lastPathComponent)>" }
    return "<CKAsset \(state.wire?.size.map { "\($0) bytes" } ?? "on the server")>"
  }
}

// MARK: - For reading and saving

extension CKAsset {
  /// The descriptor that the server gave; nil for an asset that was made of a file.
  package var wire: WireAsset? { state.withLock { $0.wire } }

  /// Where the asset was read; nil for one that was made of a file.
  var origin: Origin? { state.withLock { $0.origin } }

  /// The local file, for use while the asset is held.
  var localFile: URL? { state.withLock { $0.fileURL } }

  /// Notes where the asset was read, for the first time only.
  func wasRead(at origin: Origin) {
    state.withLock { state in
      if state.wire != nil, state.origin == nil { state.origin = origin }
    }
  }

  /// Takes the database that can download the asset.
  func belongs(to database: CKDatabase) { state.withLock { $0.database = database } }

  /// Takes a newer descriptor of the same bytes.
  func renew(_ wire: WireAsset) { state.withLock { $0.wire = wire } }

  /// Takes a downloaded file, unless there is one by now.
  func take(_ file: OwnedFile) {
    state.withLock { state in
      guard state.fileURL == nil else { return }
      state.fileURL = file.url
      state.owned = file
    }
  }

  /// Takes the path that an archive had, if there still is a file.
  func restore(path: String) {
    guard FileManager.default.fileExists(atPath: path) else { return }
    state.withLock { $0.fileURL = URL(fileURLWithPath: path) }
  }
}
