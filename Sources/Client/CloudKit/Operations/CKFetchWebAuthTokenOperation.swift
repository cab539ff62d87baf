/// An operation that returns the web auth token of the signed-in user, for code that calls Web Services itself.
///
/// Apple's systems create a new token, which Web Services cannot do. This operation returns the container's newest
/// token, which is only for the container's API token. The token becomes invalid with the next reply to the container,
/// which replaces it, and using it elsewhere signs the container out. Hand it over only when the container has finished
/// its work.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
  /// The API token that the web auth token must belong to.
  @CKParameter public var apiToken: String?

  /// Called with the token, or with `CKError.notAuthenticated` if no user is signed in with that API token.
  @CKCallback public var fetchWebAuthTokenResultBlock: ((Result<String, any Error>) -> Void)?

  /// The older form of `fetchWebAuthTokenResultBlock`.
  @CKCallback public var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)?

  /// Makes an empty operation. Set `apiToken` before you add it.
  public override init() {}

  /// Makes an operation that returns the web auth token for an API token.
  public convenience init(apiToken: String) {
    self.init()
    self.apiToken = apiToken
  }

  override func run() async {
    let database = begin()
    let token = apiToken
    let answer = await attempt {
      try await database.perform(.read) { client throws(WebServicesError) in try client.webAuthToken(for: token) }
    }
    await call { [self] in
      fetchWebAuthTokenResultBlock?(answer)
      fetchWebAuthTokenCompletionBlock?(try? answer.get(), answer.failure)
    }
  }
}
