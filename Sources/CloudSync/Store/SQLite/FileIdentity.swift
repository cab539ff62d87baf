#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Identifies a file by device and inode number, which is unique as long as the file is open.
package struct FileIdentity: Hashable, Sendable {
  private let device: UInt64
  private let inode: UInt64

  /// The file at a path; nil if there is none.
  init?(atPath path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The file of an open descriptor; nil if it is not open.
  init?(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The number of names (hard links) that the file at a path has; nil if there is none.
  static func names(ofFileAt path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_nlink) : nil
  }

  private init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }
}
