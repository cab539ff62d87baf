public import Foundation
internal import Synchronization

/// A file that belongs to a record and is stored separately from its fields.
///
/// To save an asset, assign one with a local file to a field and save the record: the save uploads the file. A fetched
/// record has its assets downloaded to `fileURL`, unless the container's configuration sets downloads on demand; then
/// call `download()`.
///
/// CloudKit owns a downloaded file. The file is deleted when the last `CKAsset` that owns it is released, or about 30
/// seconds later if its URL was read. Copy or move a file that you want to keep.
public final class CKAsset: NSObject, CKArchivable, NSCopying, __CKRecordObjCValue, Sendable {
  /// The record and field an asset was fetched from, for downloading it again.
  struct Origin: Hashable, Sendable {
    let recordID: CKRecordID
    let key: String
  }

  private struct State: Sendable {
    var fileURL: URL?
    var owned: OwnedFile?
    /// The caller's file as it was when the asset was made.
    var facts: FileFacts?
    var wire: WireAsset?
    var origin: Origin?
    var database: CKDatabase?
  }

  private let state: Mutex<State>

  private init(_ state: State) { self.state = Mutex(state) }

  /// Makes an asset from a local file, which must not change until the record is saved.
  public convenience init(fileURL: URL) {
    self.init(State(fileURL: fileURL, facts: try? FileFacts(of: fileURL)))
  }

  /// Makes an asset from data. The data is kept in a file of CloudKit, which is deleted with the asset.
  ///
  /// - Throws: An error if the file cannot be written.
  public convenience init(contents: Data) throws {
    let owned: OwnedFile
    do throws(AssetFileError) {
      owned = try OwnedFile(in: AssetFolder.current(AssetFolder.Options()))
    } catch {
      throw CKError(error)
    }
    try contents.write(to: owned.url)
    self.init(State(fileURL: owned.url, owned: owned))
  }

  package convenience init(wire: WireAsset) { self.init(State(wire: wire)) }

  /// The local file; nil if the asset is only on the server.
  public var fileURL: URL? {
    let state = state.withLock { $0 }
    state.owned?.handOut()
    return state.fileURL
  }

  /// Returns the local file, and downloads it first if there is none.
  ///
  /// - Throws: `CKError.assetNotAvailable` if the server no longer has the file, or the asset is not from a record
  ///   fetched in this process; another `CKError` if the download fails.
  public func download() async throws -> URL {
    if let fileURL { return fileURL }
    guard let database = state.withLock({ $0.database }) else {
      throw CKError(.assetNotAvailable, "This asset has no database to download from. Fetch its record again.")
    }
    if let error = await database.download([self]).first { throw error.value }
    guard let fileURL else {
      throw CKError(.assetNotAvailable, "The server returned no download URL for this asset. Fetch its record again.")
    }
    return fileURL
  }

  /// Reads an archived asset. An asset that Apple's framework archived without a local file has neither a file nor a
  /// descriptor.
  public required init?(coder: NSCoder) {
    var state = State()
    state.wire = coder.wire(WireAsset.self, forKey: "AssetDescriptor")
    state.fileURL =
      coder.string(forKey: "AssetFilePath").map { URL(fileURLWithPath: $0) }
      // The key in Apple's archives.
      ?? coder.object(NSURL.self, forKey: "AssetFileURL").map { $0 as URL }
    if let recordID = coder.object(CKRecordID.self, forKey: "AssetRecordID"),
      let key = coder.string(forKey: "AssetFieldKey")
    {
      state.origin = Origin(recordID: recordID, key: key)
    }
    self.state = Mutex(state)
  }

  /// Archives the file's path and the server's descriptor, not the file itself.
  public func encode(with coder: NSCoder) {
    let state = state.withLock { $0 }
    if let fileURL = state.fileURL { coder.encode(NSString(string: fileURL.path), forKey: "AssetFilePath") }
    if let wire = state.wire { coder.encode(wire: wire, forKey: "AssetDescriptor") }
    if let origin = state.origin {
      coder.encode(origin.recordID, forKey: "AssetRecordID")
      coder.encode(NSString(string: origin.key), forKey: "AssetFieldKey")
    }
  }

  /// Returns this asset: two instances would not know when to delete their file.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// The file's name, or the size that the server reports.
  public override var description: String {
    let state = state.withLock { $0 }
    if let fileURL = state.fileURL { return "<CKAsset \(fileURL.lastPathComponent)>" }
    return "<CKAsset \(state.wire?.size.map { "\($0) bytes" } ?? "on the server")>"
  }
}

// MARK: - Fetching and saving

extension CKAsset {
  /// The server's descriptor; nil for an asset made from a file.
  package var wire: WireAsset? { state.withLock { $0.wire } }

  /// The record and field the asset was fetched from; nil for an asset made from a file.
  var origin: Origin? { state.withLock { $0.origin } }

  /// The local file, valid only while the asset is referenced.
  package var localFile: URL? { state.withLock { $0.fileURL } }

  /// The local file, if it still has the bytes with which the asset was made or downloaded.
  package var unchangedFile: URL? {
    let state = state.withLock { $0 }
    guard let file = state.fileURL else { return nil }
    if state.owned != nil { return file }
    return state.facts != nil && state.facts == (try? FileFacts(of: file)) ? file : nil
  }

  /// Stores where the asset was fetched from. Only the first call has an effect.
  func wasRead(at origin: Origin) {
    state.withLock { state in
      if state.wire != nil, state.origin == nil { state.origin = origin }
    }
  }

  /// Sets the database that can download the asset.
  func belongs(to database: CKDatabase) { state.withLock { $0.database = database } }

  /// Sets a newer descriptor of the same file.
  func renew(_ wire: WireAsset) { state.withLock { $0.wire = wire } }

  /// Sets the downloaded file, unless there already is a local file.
  func take(_ file: OwnedFile) {
    state.withLock { state in
      guard state.fileURL == nil else { return }
      state.fileURL = file.url
      state.owned = file
    }
  }

  /// Sets the local file from an archived path, if the file still exists.
  func restore(path: String) {
    guard FileManager.default.fileExists(atPath: path) else { return }
    state.withLock { $0.fileURL = URL(fileURLWithPath: path) }
  }
}
