/// An operation that returns the web auth token of the signed-in user, for code that calls Web Services itself.
///
/// Apple's systems create a new token, which Web Services cannot do. This operation returns the container's newest
/// token, which is only for the container's API token. The token becomes invalid with the next reply to the container,
/// which replaces it, and using it elsewhere signs the container out. Hand it over only when the container has finished
/// its work.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
  private struct Parameters {
    var apiToken: String?
  }

  private struct Blocks {
    var completion: ((String?, (any Error)?) -> Void)?
    var result: ((Result<String, any Error>) -> Void)?
  }

  private let parameters = Locked(Parameters())
  private let blocks = Locked(Blocks())

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
    await conclude(blocks) { blocks in
      blocks.result?(answer)
      blocks.completion?(try? answer.get(), answer.failure)
    }
  }
}

// MARK: - Parameters and callbacks

extension CKFetchWebAuthTokenOperation {
  /// The API token that the web auth token must belong to.
  public var apiToken: String? {
    get { parameters.apiToken }
    set { parameters.apiToken = newValue }
  }

  /// Called with the token, or with `CKError.notAuthenticated` if no user is signed in with that API token.
  public var fetchWebAuthTokenResultBlock: ((Result<String, any Error>) -> Void)? {
    get { blocks.result }
    set { blocks.result = newValue }
  }

  /// The older form of `fetchWebAuthTokenResultBlock`.
  public var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)? {
    get { blocks.completion }
    set { blocks.completion = newValue }
  }
}
