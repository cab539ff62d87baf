internal import Foundation

/// A file that keeps a program's newest web auth token between runs: the server replaces the token with each reply.
///
/// ```swift
/// var configuration = try CKContainerConfiguration.fromEnvironment(ProcessInfo.processInfo.environment)
/// try configuration.keepWebAuthToken(in: CKWebAuthTokenFile(path: "/var/lib/notes/token"))
/// CKContainer.setDefault(CKContainer(configuration: configuration))
/// ```
public struct CKWebAuthTokenFile: Sendable {
  /// The file's path. The folder must exist and be writable, because the whole file is replaced.
  public let path: String

  /// Makes a token file for a path. Nothing is read or written yet.
  public init(path: String) { self.path = path }

  /// Reads the token; nil if the file is missing or empty.
  ///
  /// - Throws: `CKCredentialError` if the file cannot be read, or its group or others can read or write it.
  public func read() throws(CKCredentialError) -> String? {
    guard let data = try PrivateFile.read(path) else { return nil }
    let token = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return token.isEmpty ? nil : token
  }

  /// Writes a token to the file. Only the owner can read it.
  ///
  /// - Throws: `CKCredentialError` if the file cannot be written; it then still contains the old token.
  public func keep(_ token: String) throws(CKCredentialError) {
    try PrivateFile.replace(path, with: Data(token.utf8))
  }

  /// Deletes the file if it contains this token, which the server rejected. A different token, which another process
  /// may have written since, is kept.
  public func forget(_ token: String) {
    guard let kept = try? read(), kept == token else { return }
    unlink(path)
  }
}
