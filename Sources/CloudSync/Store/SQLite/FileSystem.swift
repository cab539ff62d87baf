import Facts
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The file system of a store.
struct FileSystem: Hashable, Sendable {
  /// The bytes that this user may still write.
  var freeBytes: UInt64
  var isReadOnly: Bool

  /// The fewest free bytes with which SQLite works: those of its shared-memory file.
  static let leastFreeBytes: UInt64 = 32_768

  /// The file system of the folder of a path; nil if unknown.
  init?(of path: String) {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    var status = statvfs()
    // Some file systems count no blocks.
    guard statvfs(folder, &status) == 0, status.f_blocks > 0 else { return nil }
    // Some blocks are reserved for root.
    let blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail
    freeBytes = UInt64(blocks) * UInt64(status.f_frsize)
    isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
  }

  /// Why nothing can be written. Read-only media are no trouble: whether they should be writable is not known.
  var trouble: StorageTrouble? { freeBytes < Self.leastFreeBytes && !isReadOnly ? .full : nil }
}
