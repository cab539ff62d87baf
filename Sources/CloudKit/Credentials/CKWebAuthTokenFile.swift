internal import Foundation

/// The newest web-auth token of a program, kept in a file between its runs: the server replaces the token with each
/// answer.
///
/// ```swift
/// var configuration = try CKContainerConfiguration.fromEnvironment(ProcessInfo.processInfo.environment)
/// try configuration.keepWebAuthToken(in: CKWebAuthTokenFile(path: "/var/lib/notes/token"))
/// CKContainer.setDefault(CKContainer(configuration: configuration))
/// ```
public struct CKWebAuthTokenFile: Sendable {
  /// Where the file is. The folder must exist and be writable: the file is replaced as a whole.
  public let path: String

  /// Names a file. Nothing is read or written yet.
  public init(path: String) { self.path = path }

  /// The token; nil where there is none.
  ///
  /// - Throws: `CKCredentialError` when the file cannot be read, or can be read or written by others than its owner.
  public func read() throws(CKCredentialError) -> String? {
    guard let data = try PrivateFile.read(path) else { return nil }
    let token = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return token.isEmpty ? nil : token
  }

  /// Keeps a token, readable by its owner alone.
  ///
  /// - Throws: `CKCredentialError` when the file cannot be written; the old token is still in it.
  public func keep(_ token: String) throws(CKCredentialError) {
    try PrivateFile.replace(path, with: Data(token.utf8))
  }

  /// Forgets a token that was refused. Another one, which another process may have kept meanwhile, stays.
  public func forget(_ token: String) {
    guard let kept = try? read(), kept == token else { return }
    unlink(path)
  }
}

extension CKContainerConfiguration {
  /// Starts from the token of a file, where it has one, and keeps every later one in it.
  ///
  /// A token is in the file before the answer that it came with is handed on. One that cannot be written is no reason to
  /// stop: the container goes on with it.
  ///
  /// - Throws: `CKCredentialError` where the credential is no API token, or the file cannot be read safely.
  public mutating func keepWebAuthToken(in file: CKWebAuthTokenFile) throws(CKCredentialError) {
    switch credential {
    case .apiToken(let apiToken), .webAuth(let apiToken, _):
      if let token = try file.read() { credential = .webAuth(apiToken: apiToken, webAuthToken: token) }
    case .serverToServerKey, nil:
      throw CKCredentialError("A web-auth token needs an API token beside it: set CLOUDKIT_API_TOKEN.")
    }
    webAuthTokenRotated = { token in try? file.keep(token) }
    webAuthTokenRefused = { token in file.forget(token) }
  }
}
