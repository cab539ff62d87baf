public import Foundation

/// One database of a container.
///
/// Calls do not retry and do not queue: what fails is told, with what is known of its effect. All of them honour the
/// cancellation of their task and then throw `CKError.operationCancelled`; a write may have taken effect all the same.
public final class CKDatabase: NSObject, Sendable {
  /// Which database, with Apple's numbers.
  public enum Scope: Int, Sendable, CaseIterable {
    /// The one that all users share.
    case `public` = 1
    /// The signed-in user's own.
    case `private` = 2
    /// What others have shared with the user.
    case shared = 3
  }

  /// Which database this is.
  public let databaseScope: Scope

  private let client: Result<WebServicesClient, CKError>
  /// Moves the bytes of assets.
  let assets: AssetService
  /// What `configuredWith(configuration:group:body:)` set for calls through this instance.
  let settings: OperationSettings

  init(
    scope: Scope,
    client: Result<WebServicesClient, CKError>,
    assets: AssetService,
    settings: OperationSettings = OperationSettings()
  ) {
    databaseScope = scope
    self.client = client
    self.assets = assets
    self.settings = settings
  }

  /// The same database, for calls under other settings; what they leave open stays as it is here.
  func configured(by settings: OperationSettings) -> CKDatabase {
    CKDatabase(scope: databaseScope, client: client, assets: assets, settings: settings.completed(by: self.settings))
  }

  /// The same database, for calls of a later time, which the settings of a present operation do not concern.
  var unconfigured: CKDatabase { CKDatabase(scope: databaseScope, client: client, assets: assets) }

  /// The most items that Web Services take in one request (reference 4).
  static let largestBatch = 200

  /// The database as URLs spell it.
  var name: DatabaseName {
    switch databaseScope {
    case .public: .public
    case .private: .private
    case .shared: .shared
    }
  }

  /// Makes one request and puts its failure into Apple's words.
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

  /// Why a request has no answer: for reasons of our own, or for the server's.
  enum Failure: Error {
    case local(CKError)
    case server(WebServicesError)
  }

  /// Makes one request and hands its failure out, for callers that decide by it.
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
      return .failure(.local(CKError(.networkFailure, "The operation's time was over before the request was sent.")))
    }
    do throws(WebServicesError) {
      return .success(try await WebServicesClient.withTimeout(timeout, usable, request))
    } catch {
      if Task.isCancelled { return .failure(.local(CKError(.operationCancelled, "The call was cancelled."))) }
      return .failure(.server(error))
    }
  }
}

extension Array {
  /// The elements in runs of at most a number of them.
  func chunks(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }

  /// The elements with those of equal key together, the keys in the order of their first element.
  func grouped<Key: Hashable>(by key: (Element) -> Key) -> [(key: Key, elements: [Element])] {
    var order: [Key] = []
    var groups: [Key: [Element]] = [:]
    for element in self {
      let key = key(element)
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(element)
    }
    return order.map { ($0, groups[$0] ?? []) }
  }
}
