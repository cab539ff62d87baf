internal import Foundation

extension CKSyncEngine.Configuration {
  /// Whether the state belongs to a user, but the program has no web auth token, without a sign-out: the token was
  /// probably forgotten. The engine reports that as a sign-out, after which many apps delete their data.
  package var lacksUser: Bool {
    guard stateSerialization?.user != nil, let client = try? database.client.get(), client.takesUsers else {
      return false
    }
    return client.isSignedOut && !client.hasSignedOut
  }

  /// Warns on standard error, once in a process, if the user is missing.
  func warnOfMissingUser() { if lacksUser { _ = Self.warning } }

  private static let warning: Void = {
    let text = """
      CloudKit: the saved state of CKSyncEngine belongs to a user, but there is no web auth token, so a sign-out is \
      reported; set CLOUDKIT_WEB_AUTH_TOKEN, or sign in before the engine is made

      """
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }()
}
