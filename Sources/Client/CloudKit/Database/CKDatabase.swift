public import Foundation

/// One database of a container.
///
/// Calls neither retry nor queue: they throw, and the error says whether the request may have taken effect. All calls
/// respect cancellation of their task and then throw `CKError.operationCancelled`; a write may still have taken effect.
///
/// `@unchecked Sendable`: it is immutable.
open class CKDatabase: NSObject, @unchecked Sendable {
  /// The databases of a container, with Apple's raw values.
  public enum Scope: Int, Sendable {
    /// The public database, which all users share.
    case `public` = 1
    /// The signed-in user's private database.
    case `private` = 2
    /// The records that other users have shared with the signed-in user.
    case shared = 3
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }

  /// The scope of this database.
  open private(set) var databaseScope: Scope

  let client: Result<WebServicesClient, CKError>
  /// The service that uploads and downloads asset files.
  let assets: AssetService
  /// The account of the container.
  let account: AccountWatch
  /// The settings from `configuredWith(configuration:group:body:)` for calls through this instance.
  let settings: OperationSettings

  init(
    scope: Scope,
    client: Result<WebServicesClient, CKError>,
    assets: AssetService,
    account: AccountWatch,
    settings: OperationSettings = OperationSettings()
  ) {
    databaseScope = scope
    self.client = client
    self.assets = assets
    self.account = account
    self.settings = settings
  }

  /// Runs an operation in this database as soon as its dependencies have finished.
  open func add(_ operation: CKDatabaseOperation) {
    operation.database = self
    OperationQueue.cloudKit.addOperation(operation)
  }

  /// Returns this database with other assets and settings.
  private func with(_ assets: AssetService, _ settings: OperationSettings) -> CKDatabase {
    CKDatabase(scope: databaseScope, client: client, assets: assets, account: account, settings: settings)
  }

  /// Returns the same database with other settings. Settings that are not set there keep this instance's values.
  func configured(by settings: OperationSettings) -> CKDatabase {
    with(assets, settings.completed(by: self.settings))
  }

  /// The same database without the settings of the current operation, for later calls.
  var unconfigured: CKDatabase { with(assets, OperationSettings()) }

  /// The same database for reads that do not need the files of assets.
  package var withoutDownloads: CKDatabase { with(assets.onDemand, settings) }

  /// Writes a line to the container's log, for a caller that asked for it.
  package func report(_ text: String) {
    if case .success(let client) = client { client.configuration.instruments.report(text) }
  }

  /// The maximum number of items in one request of Web Services (reference 4).
  package static let largestBatch = 200
  /// The maximum number of bytes of the items in one request: below the 2 MB that Web Services are assumed to accept
  /// (reference 4).
  package static let largestBody = 1_500_000

  /// The name of the database in URLs.
  var name: DatabaseName { databaseScope.name }

  /// Sends one request and converts its error to a `CKError`.
  func perform<Answer: Sendable>(
    _ context: FailureContext,
    _ request: (WebServicesClient) async throws(WebServicesError) -> Answer
  ) async throws(CKError) -> Answer {
    switch await attempt(request) {
    case .success(let answer): return answer
    case .failure(.local(let error)): throw error
    case .failure(.server(let error)): throw CKError(error, in: context)
    }
  }

  /// The reason why a request failed: an error of this library, or an error of the server or the transport.
  enum Failure: Error {
    case local(CKError)
    case server(WebServicesError)
  }

  /// Sends one request and returns its unconverted error, for callers that decide by it.
  func attempt<Answer: Sendable>(
    _ request: (WebServicesClient) async throws(WebServicesError) -> Answer
  ) async -> Result<Answer, Failure> {
    let usable: WebServicesClient
    switch client {
    case .success(let client): usable = client
    case .failure(let error): return .failure(.local(error))
    }
    let timeout = settings.timeout()
    if let timeout, timeout <= .zero {
      return .failure(.local(CKError(.networkFailure, "The operation timed out before the request was sent.")))
    }
    do throws(WebServicesError) {
      return .success(try await WebServicesClient.withTimeout(timeout, usable, request))
    } catch {
      if Task.isCancelled { return .failure(.local(CKError(.operationCancelled, "The call was cancelled."))) }
      return .failure(.server(error))
    }
  }
}

extension CKDatabase.Scope {
  /// The name of the database in URLs and stores.
  package var name: DatabaseName {
    switch self {
    case .public: .public
    case .private: .private
    case .shared: .shared
    }
  }
}

extension DatabaseName {
  /// The scope of the database.
  package var scope: CKDatabase.Scope {
    switch self {
    case .public: .public
    case .private: .private
    case .shared: .shared
    }
  }
}
