import Glibc

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

  /// Whether a file that is not at its path was on a file system that is no longer mounted there, to judge by the
  /// folder of the path.
  func isOnLostVolume(_ path: String) -> Bool {
    guard Self(atPath: path) == nil else { return false }
    var folder = path
    // The mount point may be a folder above that of the file.
    while let slash = folder.lastIndex(of: "/"), folder.startIndex < slash {
      folder = String(folder[..<slash])
      if let present = Self(atPath: folder) { return present.device != device }
    }
    return false
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
