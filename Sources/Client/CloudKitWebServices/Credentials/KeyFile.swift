internal import Foundation

extension CKServerToServerKey {
  /// Reads a private key from a PEM file that only its owner can access.
  ///
  /// - Throws: `CKCredentialError` if the file cannot be read, is not a regular file, can be accessed by its group or
  ///   others, is over 64 KB, or contains no P-256 private key.
  public static func load(keyID: String, file path: String) throws(CKCredentialError) -> CKServerToServerKey {
    let text = try privateText(at: path)
    do {
      return try CKServerToServerKey(keyID: keyID, pemRepresentation: text)
    } catch {
      throw CKCredentialError("\(path): \(error.message)")
    }
  }

  private static func privateText(at path: String) throws(CKCredentialError) -> String {
    guard let data = try PrivateFile.read(path) else { throw CKCredentialError("\(path): the file does not exist.") }
    guard let text = String(data: data, encoding: .utf8) else {
      throw CKCredentialError("\(path): no private key in PEM form was found (-----BEGIN EC PRIVATE KEY-----).")
    }
    return text
  }
}
