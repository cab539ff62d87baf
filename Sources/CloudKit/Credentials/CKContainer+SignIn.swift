public import Foundation

extension CKContainer {
  /// The page on which a person signs in with their Apple account. Needs an API token.
  ///
  /// It leads back to a callback URL, which `signIn(callback:)` takes. Errors of calls that need a user have the page too,
  /// as `CKError.signInURL`.
  ///
  /// - Throws: `CKError.badContainer` or `notAuthenticated` where the container or its API token is at fault.
  public func signInURL() async throws -> URL {
    let page = try await perform(.read) { client throws(WebServicesError) in try await client.signInPage() }
    guard let url = URL(signInPage: page) else {
      throw CKError(.notAuthenticated, "The server names no page to sign in on.")
    }
    return url
  }

  /// Works as the person who signed in from now on, in this container and its databases. The token is kept
  /// (`CKContainerConfiguration.webAuthTokenRotated`) before it is used.
  ///
  /// - Parameter callback: The URL that the sign-in page led back to.
  /// - Returns: The user's record.
  /// - Throws: `CKCredentialError` where the URL holds no token for this container; `CKError` where it is refused, which
  ///   leaves nobody signed in.
  @discardableResult
  public func signIn(callback: URL) async throws -> CKRecord.ID {
    let token = try CKCredential.webAuthToken(inCallback: callback, container: containerIdentifier ?? "")
    let client = try client.get()
    guard client.takesUsers else {
      throw CKCredentialError("Nobody can sign in to a container that is reached without an API token.")
    }
    if !client.isSignedIn { account.note(.noAccount) }
    client.beginSession(with: token)
    return try await userRecordID()
  }

  /// Works as nobody from now on. The token is told to be of no use (`CKContainerConfiguration.webAuthTokenRefused`).
  public func signOut() {
    guard let client = try? client.get(), client.isSignedIn else { return }
    client.beginSession(with: nil)
    account.lost()
  }
}

extension CKError {
  /// Where a person signs in, when the server asks for a user. Holds no token, yet belongs to one attempt to sign in: show
  /// it to the person, not to the log.
  public var signInURL: URL? { signInPage.flatMap(URL.init(signInPage:)) }
}

extension URL {
  /// A page to be opened in a browser: text from outside is no other kind of URL.
  fileprivate init?(signInPage text: String) {
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil else {
      return nil
    }
    self = url
  }
}
