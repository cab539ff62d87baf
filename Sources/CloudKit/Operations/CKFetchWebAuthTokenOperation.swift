/// Gives the web-auth token of the signed-in user, for code that calls Web Services by itself.
///
/// Apple's systems have a new one made; Web Services cannot do that. It is the newest one of the container, for the API
/// token of the container and no other. It dies with the next answer to the container, which replaces it, and using it
/// elsewhere signs the container out: give it away when the container has done its work.
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

  /// Makes an operation that gives nothing until `apiToken` is set.
  public override init() {}

  /// Makes an operation that gives the web-auth token that belongs to an API token.
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

// MARK: - Which token, and whom to tell

extension CKFetchWebAuthTokenOperation {
  /// The API token that the web-auth token has to belong to.
  public var apiToken: String? {
    get { parameters.apiToken }
    set { parameters.apiToken = newValue }
  }

  /// Called with the token, or with `CKError.notAuthenticated` where nobody is signed in with that API token.
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
