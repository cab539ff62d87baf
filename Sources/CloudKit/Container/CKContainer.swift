public import Foundation
internal import Synchronization

/// One app's data: a public, a private and a shared database.
public final class CKContainer: NSObject, Sendable {
  /// The container's identifier; nil for the default container where nothing names one.
  public let containerIdentifier: String?
  /// The database that all users share. A server-to-server key reaches this one alone.
  public let publicCloudDatabase: CKDatabase
  /// The signed-in user's own database.
  public let privateCloudDatabase: CKDatabase
  /// What others have shared with the signed-in user.
  public let sharedCloudDatabase: CKDatabase

  /// What is known of the user.
  let account: AccountWatch
  let client: Result<WebServicesClient, CKError>
  private let configuration: Result<CKContainerConfiguration, CKCredentialError>
  private let assets: AssetService
  /// What `configuredWith(configuration:group:body:)` set for calls through this instance.
  let settings: OperationSettings

  /// Makes a container that is reached the way the default container is.
  public convenience init(identifier containerIdentifier: String) {
    self.init(
      CKContainer.default().configuration.map { configuration in
        var configuration = configuration
        configuration.identifier = containerIdentifier
        return configuration
      },
      identifier: containerIdentifier
    )
  }

  /// Makes a container.
  public convenience init(configuration: CKContainerConfiguration) {
    self.init(.success(configuration), identifier: configuration.identifier)
  }

  /// Makes a container. Without a transport, requests go to Apple.
  public convenience init(
    identifier: String,
    environment: CKContainerConfiguration.Environment = .development,
    credential: CKCredential?,
    transport: any CKTransport = CKHTTPTransport()
  ) {
    self.init(
      configuration: CKContainerConfiguration(
        identifier: identifier,
        environment: environment,
        credential: credential,
        transport: transport
      )
    )
  }

  /// A container for a client that there is already: both work as the same user, with the same tokens.
  package convenience init(sharing client: WebServicesClient) {
    let known = client.configuration
    let configuration = CKContainerConfiguration(
      identifier: known.container,
      environment: CKContainerConfiguration.Environment(rawValue: known.environment) ?? .development,
      credential: known.credential
    )
    self.init(
      .success(configuration),
      client: .success(client),
      account: AccountWatch(),
      assets: AssetService(configuration),
      identifier: known.container,
      settings: OperationSettings()
    )
  }

  private convenience init(_ configuration: Result<CKContainerConfiguration, CKCredentialError>, identifier: String?) {
    let account = AccountWatch()
    self.init(
      configuration,
      client: Self.client(configuration, account),
      account: account,
      assets: AssetService(try? configuration.get()),
      identifier: identifier.flatMap { $0.isEmpty ? nil : $0 },
      settings: OperationSettings()
    )
    account.belongs(to: self)
  }

  private init(
    _ configuration: Result<CKContainerConfiguration, CKCredentialError>,
    client: Result<WebServicesClient, CKError>,
    account: AccountWatch,
    assets: AssetService,
    identifier: String?,
    settings: OperationSettings
  ) {
    self.configuration = configuration
    self.client = client
    self.account = account
    self.assets = assets
    self.settings = settings
    containerIdentifier = identifier
    publicCloudDatabase = CKDatabase(scope: .public, client: client, assets: assets, settings: settings)
    privateCloudDatabase = CKDatabase(scope: .private, client: client, assets: assets, settings: settings)
    sharedCloudDatabase = CKDatabase(scope: .shared, client: client, assets: assets, settings: settings)
  }

  /// The same container, for calls under other settings; what they leave open stays as it is here.
  func configured(by settings: OperationSettings) -> CKContainer {
    CKContainer(
      configuration,
      client: client,
      account: account,
      assets: assets,
      identifier: containerIdentifier,
      settings: settings.completed(by: self.settings)
    )
  }

  /// The database of a scope.
  public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
    switch databaseScope {
    case .public: publicCloudDatabase
    case .private: privateCloudDatabase
    case .shared: sharedCloudDatabase
    }
  }

  /// An unusable configuration is told with the first call, since making a container cannot fail in Apple's API.
  private static func client(
    _ configuration: Result<CKContainerConfiguration, CKCredentialError>,
    _ account: AccountWatch
  ) -> Result<WebServicesClient, CKError> {
    switch configuration {
    case .failure(let error): return .failure(CKError(.notAuthenticated, error.message))
    case .success(let configuration) where configuration.identifier.isEmpty:
      return .failure(
        CKError(.badContainer, "No container is named: set CLOUDKIT_CONTAINER, or call CKContainer.setDefault(_:).")
      )
    case .success(let configuration):
      let settings = WebServicesClient.Configuration(
        container: configuration.identifier,
        environment: configuration.environment.rawValue,
        credential: configuration.credential,
        tokenRotated: configuration.webAuthTokenRotated,
        tokenRefused: { token in
          configuration.webAuthTokenRefused(token)
          account.lost()
        },
        instruments: Instruments(configuration.logger)
      )
      return .success(WebServicesClient(settings, transport: configuration.transport))
    }
  }
}

// MARK: - Requests

extension CKContainer {
  /// Makes one request that belongs to no database and puts its failure into Apple's words.
  func perform<Answer: Sendable>(
    _ context: FailureContext,
    _ request: (WebServicesClient) async throws(WebServicesError) -> Answer
  ) async throws(CKError) -> Answer {
    let usable = try client.get()
    let timeout = settings.timeout()
    if let timeout, timeout <= .zero {
      throw CKError(.networkFailure, "The operation's time was over before the request was sent.")
    }
    do throws(WebServicesError) {
      return try await WebServicesClient.withTimeout(timeout, usable, request)
    } catch {
      throw Task.isCancelled ? CKError(.operationCancelled, "The call was cancelled.") : CKError(error, in: context)
    }
  }
}

// MARK: - The default container

extension CKContainer {
  private static let standard = Mutex<CKContainer?>(nil)

  /// The container that a program works with unless it says otherwise: the one that was set with `setDefault(_:)`, or what
  /// the `CLOUDKIT_*` variables of the process describe when this is called first.
  public class func `default`() -> CKContainer {
    standard.withLock { standard in
      if let standard { return standard }
      let configuration = Result { () throws(CKCredentialError) in
        try CKContainerConfiguration.fromEnvironment(ProcessInfo.processInfo.environment)
      }
      let container = CKContainer(configuration, identifier: (try? configuration.get())?.identifier)
      standard = container
      return container
    }
  }

  /// Makes a container the default one of this process. Containers that exist already stay as they are.
  public static func setDefault(_ container: CKContainer) { standard.withLock { $0 = container } }
}

// MARK: - The account

extension CKContainer {
  /// Whether there is a user to work as.
  ///
  /// A server-to-server key always has one of its own. For a web-auth token the server is asked.
  public func accountStatus() async throws -> CKAccountStatus {
    if case .serverToServerKey? = try configuration.mapError({ CKError(.notAuthenticated, $0.message) }).get()
      .credential
    {
      return .available
    }
    let status: CKAccountStatus
    do {
      guard try client.get().isSignedIn else { throw CKError(.notAuthenticated, "Nobody is signed in.") }
      _ = try await userRecordID()
      return .available
    } catch CKError.notAuthenticated {
      status = .noAccount
    } catch CKError.accountTemporarilyUnavailable {
      status = .temporarilyUnavailable
    }
    account.note(status)
    return status
  }

  /// The signed-in user's record. Needs a web-auth token: the server refuses keys this question.
  public func userRecordID() async throws -> CKRecord.ID {
    let caller = try await perform(.read) { client throws(WebServicesError) in try await client.caller() }
    account.note(.available, user: caller.userRecordName)
    return CKRecordID(recordName: caller.userRecordName)
  }
}

/// Whether there is a user to work as, with Apple's numbers.
public enum CKAccountStatus: Int, Sendable {
  /// Not known.
  case couldNotDetermine = 0
  /// There is one.
  case available = 1
  /// Somebody's policy forbids it.
  case restricted = 2
  /// Nobody is signed in.
  case noAccount = 3
  /// There is one, but not now.
  case temporarilyUnavailable = 4
}
