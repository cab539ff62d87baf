import Facts
import Foundation
import Glibc

struct FileSystem: Hashable, Sendable {
  /// The bytes that this user may still write.
  var freeBytes: UInt64
  var isReadOnly: Bool

  /// The fewest free bytes with which SQLite works: those of its shared-memory file.
  static let leastFreeBytes: UInt64 = 32_768

  init(freeBytes: UInt64, isReadOnly: Bool) { (self.freeBytes, self.isReadOnly) = (freeBytes, isReadOnly) }

  /// The file system of the folder of a path, or of the folder in which that would be created; nil if unknown.
  init?(of path: String) {
    var folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    var status = statvfs()
    while statvfs(folder.path, &status) != 0 {
      guard errno == ENOENT, folder.pathComponents.count > 1 else { return nil }
      folder.deleteLastPathComponent()
    }
    // Some file systems count no blocks.
    guard status.f_blocks > 0 else { return nil }
    // Some blocks are reserved for root.
    let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
    freeBytes = UInt64(blocks) * UInt64(status.f_frsize)
    isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
  }

  /// Why nothing can be written; nil if it can, as far as is known.
  var trouble: StorageTrouble? {
    if isReadOnly { return .readOnly }
    return freeBytes < Self.leastFreeBytes ? .full : nil
  }

  /// The error with which the system refuses a small file beside a path; nil if it accepts one. A quota that is used up
  /// shows in no number of free bytes.
  static func refusal(beside path: String) -> Int32? {
    var name = Array("\(path).XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    unlink(name)
    let error = posix_fallocate(descriptor, 0, off_t(leastFreeBytes))
    return error == 0 ? nil : error
  }

  /// Creates a folder for its owner alone, unless it is there.
  static func makeFolder(_ folder: URL) throws {
    let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: attributes)
  }
}
