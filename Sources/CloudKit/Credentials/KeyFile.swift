internal import Foundation

extension CKServerToServerKey {
  /// Reads a private key from a PEM file that only its owner can read.
  ///
  /// - Throws: `CKCredentialError` when the file cannot be read, is no regular file, can be read or written by its group or
  ///   by others, is over 64 KB, or holds no P-256 private key.
  public static func load(keyID: String, file path: String) throws(CKCredentialError) -> CKServerToServerKey {
    let text = try privateText(at: path)
    do {
      return try CKServerToServerKey(keyID: keyID, pemRepresentation: text)
    } catch {
      throw CKCredentialError("\(path): \(error.message)")
    }
  }

  /// Checks and reads one and the same open file, so that it cannot be exchanged in between.
  private static func privateText(at path: String) throws(CKCredentialError) -> String {
    // Not blocking: opening a named pipe would otherwise wait for a writer for ever.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw CKCredentialError("\(path): cannot be read (\(String(cString: strerror(errno)))).")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw CKCredentialError("\(path): not a regular file.")
    }
    guard status.st_mode & 0o077 == 0 else {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw CKCredentialError("\(path): open to more than its owner (mode \(mode)): run `chmod 600 \(path)`.")
    }
    guard status.st_size <= 64 << 10 else { throw CKCredentialError("\(path): too large for a private key.") }
    guard let data = try? handle.read(upToCount: 64 << 10), let text = String(data: data, encoding: .utf8) else {
      throw CKCredentialError("\(path): no private key in PEM form was found (-----BEGIN EC PRIVATE KEY-----).")
    }
    return text
  }
}
