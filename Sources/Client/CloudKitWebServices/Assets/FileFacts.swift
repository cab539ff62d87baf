package import Foundation

/// The size, modification time and identity of a file, used to detect whether it changed.
package struct FileFacts: Hashable {
  package let size: Int64
  private let modified: [Int]
  private let identity: [UInt64]

  /// - Throws: `AssetFileError.missing` if there is no regular file.
  package init(of file: URL) throws(AssetFileError) {
    var status = stat()
    guard file.isFileURL, stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw .missing(file.lastPathComponent)
    }
    size = Int64(status.st_size)
    modified = [Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec)]
    identity = [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}

/// The reason why a file of this machine cannot be used for an asset.
package enum AssetFileError: Error {
  /// There is no regular file with the name.
  case missing(String)
  /// The file or its folder cannot be created, in words for people.
  case notCreated(String)
}
