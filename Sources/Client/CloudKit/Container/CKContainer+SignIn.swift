public import Foundation

extension CKContainer {
  /// Returns the URL of the page where a user signs in with their Apple Account. Needs an API token.
  ///
  /// The page redirects to a callback URL, which `signIn(callback:)` takes. Errors of calls that need a user also carry
  /// the page, as `CKError.signInURL`.
  ///
  /// - Throws: `CKError.badContainer` or `notAuthenticated` if the container or its API token is invalid.
  public func signInURL() async throws -> URL {
    let page = try await perform(.read) { client throws(WebServicesError) in try await client.signInPage() }
    guard let url = URL(signInPage: page) else {
      throw CKError(.notAuthenticated, "The server returned no sign-in page.")
    }
    return url
  }

  /// Signs in a user: this container and its databases now work as that user. The token is passed to
  /// `CKContainerConfiguration.webAuthTokenRotated` before it is used.
  ///
  /// - Parameter callback: The URL that the sign-in page redirected to.
  /// - Returns: The ID of the user's record.
  /// - Throws: `CKCredentialError` if the URL has no token for this container; `CKError` if the server rejects the
  ///   token, which leaves no user signed in, or the API token.
  @discardableResult
  public func signIn(callback: URL) async throws -> CKRecord.ID {
    let token = try CKCredential.webAuthToken(inCallback: callback, container: containerIdentifier ?? "")
    let client = try client.get()
    guard client.takesUsers else {
      throw CKCredentialError("Signing in needs an API token: configure the container with one.")
    }
    if !client.isSignedIn { account.note(.noAccount) }
    client.beginSession(with: token)
    return try await userRecordID()
  }

  /// Signs out the user. `CKContainerConfiguration.webAuthTokenRefused` is called with the token.
  public func signOut() {
    guard let client = try? client.get(), client.isSignedIn else { return }
    client.beginSession(with: nil)
    account.lost()
  }
}

extension CKError {
  /// The sign-in page, if the server asked for a user and the page is `https`, or on this machine. The URL holds no
  /// token but belongs to one sign-in attempt: show it to the user, do not log it.
  public var signInURL: URL? { signInPage.flatMap { URL(signInPage: $0) } }
}
