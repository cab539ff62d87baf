package import Foundation

/// A small file with a secret, which only its owner can access.
package enum PrivateFile {
  /// The largest file size that is read, in bytes.
  static let largestSize = 64 << 10

  /// Reads a file; nil if it does not exist.
  ///
  /// Checks and reads the same open file, so that it cannot be swapped in between.
  ///
  /// - Throws: `CKCredentialError` if the file cannot be read, is not a regular file, can be accessed by its group or
  ///   others, or is over 64 KB.
  static func read(_ path: String) throws(CKCredentialError) -> Data? {
    // O_NONBLOCK, because opening a named pipe would otherwise wait for a writer forever.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw CKCredentialError("\(path): cannot be read (\(String(cString: strerror(errno)))).")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw CKCredentialError("\(path): not a regular file.")
    }
    guard status.st_mode & 0o077 == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw CKCredentialError("\(path): accessible to its group or others (mode \(mode)): run `chmod 600 \(path)`.")
    }
    guard status.st_size <= largestSize else { throw CKCredentialError("\(path): over 64 KB, too large for a secret.") }
    do {
      return try handle.read(upToCount: largestSize) ?? Data()
    } catch {
      throw CKCredentialError("\(path): cannot be read.")
    }
  }

  /// Replaces a file in one step: other readers see the old content or the new content, never a part. Only the owner
  /// can access it from the start.
  ///
  /// - Throws: `CKCredentialError` if the file cannot be written; the old file is then unchanged.
  package static func replace(_ path: String, with data: Data) throws(CKCredentialError) {
    let temporary = "\(path).\(UUID().uuidString)"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CKCredentialError("\(path): cannot be written (\(String(cString: strerror(errno)))).")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // No fsync: this runs with each reply, and a token lost to a power cut costs one sign-in.
    guard (try? handle.write(contentsOf: data)) != nil, (try? handle.close()) != nil, rename(temporary, path) == 0
    else {
      unlink(temporary)
      throw CKCredentialError("\(path): cannot be written.")
    }
  }
}
