package import Foundation
internal import Synchronization

/// The folder in which this process keeps the files that CloudKit created: downloads, and assets made from bytes.
///
/// The folder is created with the first such file and removed with the last. A process that crashes leaves its folder
/// behind; the next process that creates a folder in the same directory removes it. Each process holds a file lock on
/// its folder, which the kernel releases when the process dies, so that abandoned folders can be detected.
package final class AssetFolder: Sendable {
  /// The directory that contains the folders of all processes, and the grace period for handed-out files.
  package struct Options: Hashable, Sendable {
    /// The directory; nil for a private directory of this user in the temporary directory.
    var root: URL?
    /// The time a file is kept after its last owner is released, if its address was handed out.
    package var grace: Duration

    package init(root: URL? = nil, grace: Duration = .seconds(30)) { (self.root, self.grace) = (root, grace) }
  }

  let options: Options
  private let path: String
  private let lock: CInt

  private init(options: Options, path: String, lock: CInt) {
    self.options = options
    self.path = path
    self.lock = lock
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
    close(lock)
  }

  /// Returns an address for a new file.
  func newFile() -> URL {
    URL(fileURLWithPath: path, isDirectory: true).appending(path: UUID().uuidString, directoryHint: .notDirectory)
  }

  // MARK: - One folder for each set of options

  private struct Registry {
    var folders: [Options: Reference] = [:]
    var swept: Set<String> = []
  }

  private struct Reference {
    weak var folder: AssetFolder?
  }

  private static let registry = Mutex(Registry())

  /// Returns the folder of this process with the options.
  ///
  /// - Throws: `AssetFileError.notCreated` if no folder can be created.
  package static func current(_ options: Options) throws(AssetFileError) -> AssetFolder {
    try registry.withLock { (registry) throws(AssetFileError) in
      if let folder = registry.folders[options]?.folder { return folder }
      let root = if let root = options.root { try givenRoot(root) } else { try ownRoot() }
      if registry.swept.insert(root).inserted { DispatchQueue.global(qos: .utility).async { sweep(root) } }
      let folder = try make(options, in: root)
      registry.folders[options] = Reference(folder: folder)
      return folder
    }
  }

  private static let prefix = "assets-"
  private static let lockName = "lock"

  private static func make(_ options: Options, in root: String) throws(AssetFileError) -> AssetFolder {
    // The cleanup of another process may remove a folder whose lock is not held yet. Then another folder is created.
    for _ in 0..<8 {
      let path = "\(root)/\(prefix)\(getpid())-\(UUID().uuidString)"
      guard mkdir(path, 0o700) == 0 else { throw unusable(root) }
      let lock = open("\(path)/\(lockName)", O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard lock >= 0 else { continue }
      var status = stat()
      if flock(lock, LOCK_EX | LOCK_NB) == 0, fstat(lock, &status) == 0, status.st_nlink > 0 {
        return AssetFolder(options: options, path: path, lock: lock)
      }
      close(lock)
    }
    throw unusable(root)
  }

  /// Removes folders that crashed processes left. Only folders that CloudKit created are touched.
  static func sweep(_ root: String) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [] where name.hasPrefix(prefix) {
      let path = "\(root)/\(name)"
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else { continue }
      let lock = open("\(path)/\(lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
      if lock < 0 {
        // A folder without a lock is being created right now, or its process died while creating it.
        let isOld = time(nil) - status.st_mtim.tv_sec > 60
        if errno == ENOENT, isOld { try? FileManager.default.removeItem(atPath: path) }
        continue
      }
      if flock(lock, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: path) }
      close(lock)
    }
  }

  private static func givenRoot(_ root: URL) throws(AssetFileError) -> String {
    do {
      try FileManager.default.createDirectory(
        at: root,
        withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700]
      )
    } catch {
      throw unusable(root.path)
    }
    return root.path
  }

  /// Temporary directories are shared with other users, who must not read or replace our files.
  private static func ownRoot() throws(AssetFileError) -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "cloudkit-assets-\(geteuid())").path
    mkdir(path, 0o700)
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
      throw unusable(path)
    }
    guard status.st_mode & 0o077 == 0 || chmod(path, 0o700) == 0 else { throw unusable(path) }
    return path
  }

  private static func unusable(_ path: String) -> AssetFileError {
    .notCreated("The asset folder could not be created in \(path). Configure another folder.")
  }
}
