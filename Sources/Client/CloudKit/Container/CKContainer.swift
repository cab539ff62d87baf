public import Foundation
internal import Synchronization

/// The data of one app: a public, a private and a shared database.
///
/// A subclass, for example in tests, can override the databases and the starting of operations.
///
/// `@unchecked Sendable`: it is immutable.
open class CKContainer: NSObject, @unchecked Sendable {
  /// The container's identifier; nil for the default container if no identifier is configured.
  open var containerIdentifier: String? { parts.identifier }
  /// The database that all users share. A server-to-server key can access only this one.
  open var publicCloudDatabase: CKDatabase { parts.publicDatabase }
  /// The signed-in user's own database.
  open var privateCloudDatabase: CKDatabase { parts.privateDatabase }
  /// The records that other users have shared with the signed-in user.
  open var sharedCloudDatabase: CKDatabase { parts.sharedDatabase }

  /// The parts of a container.
  private struct Parts: Sendable {
    let configuration: Result<CKContainerConfiguration, CKCredentialError>
    let client: Result<WebServicesClient, CKError>
    let account: AccountWatch
    let assets: AssetService
    let identifier: String?
    let settings: OperationSettings
    let publicDatabase: CKDatabase
    let privateDatabase: CKDatabase
    let sharedDatabase: CKDatabase

    init(
      _ configuration: Result<CKContainerConfiguration, CKCredentialError>,
      client: Result<WebServicesClient, CKError>,
      account: AccountWatch,
      assets: AssetService,
      identifier: String?,
      settings: OperationSettings = OperationSettings()
    ) {
      (self.configuration, self.client, self.account, self.assets) = (configuration, client, account, assets)
      (self.identifier, self.settings) = (identifier, settings)
      func database(_ scope: CKDatabase.Scope) -> CKDatabase {
        CKDatabase(scope: scope, client: client, assets: assets, account: account, settings: settings)
      }
      publicDatabase = database(.public)
      privateDatabase = database(.private)
      sharedDatabase = database(.shared)
    }

    init(_ configuration: Result<CKContainerConfiguration, CKCredentialError>, identifier: String?) {
      _ = UserDefaults.writesAtExit
      let account = AccountWatch()
      self.init(
        configuration,
        client: CKContainer.client(configuration, account),
        account: account,
        assets: AssetService(try? configuration.get()),
        identifier: identifier.flatMap { $0.isEmpty ? nil : $0 }
      )
    }
  }

  private let parts: Parts
  /// The pushes for all observers of models.
  let pushes = PushBroadcast()

  /// The last known state of the user's account.
  var account: AccountWatch { parts.account }
  var client: Result<WebServicesClient, CKError> { parts.client }
  /// The settings from `configuredWith(configuration:group:body:)` for calls through this instance.
  var settings: OperationSettings { parts.settings }
  private var configuration: Result<CKContainerConfiguration, CKCredentialError> { parts.configuration }

  /// Makes a container with the default container's configuration and another identifier.
  ///
  /// Protocols can require it of containers, as they can of Apple's class, so a subclass with an initializer of its own
  /// has to implement it.
  public required init(identifier containerIdentifier: String) {
    let configuration = CKContainer.default().configuration.map { configuration in
      var configuration = configuration
      configuration.identifier = containerIdentifier
      return configuration
    }
    parts = Parts(configuration, identifier: containerIdentifier)
    super.init()
    account.belongs(to: self)
  }

  /// Makes a container from a configuration.
  public init(configuration: CKContainerConfiguration) {
    parts = Parts(.success(configuration), identifier: configuration.identifier)
    super.init()
    account.belongs(to: self)
  }

  /// Makes a container from its identifier, environment and credential. By default, requests go to Apple.
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

  /// Runs an operation in this container as soon as its dependencies have finished. A database operation without a
  /// database runs in the private database.
  open func add(_ operation: CKOperation) {
    if let operation = operation as? CKDatabaseOperation, operation.database == nil {
      operation.database = privateCloudDatabase
    }
    operation.configuration.container = self
    OperationQueue.cloudKit.addOperation(operation)
  }

  /// Makes a container around an existing client: both work as the same user, with the same tokens.
  package convenience init(sharing client: WebServicesClient) {
    let known = client.configuration
    let configuration = CKContainerConfiguration(
      identifier: known.container,
      environment: CKContainerConfiguration.Environment(rawValue: known.environment) ?? .development,
      credential: known.credential,
      transport: client.transport
    )
    self.init(
      Parts(
        .success(configuration),
        client: .success(client),
        account: AccountWatch(),
        assets: AssetService(configuration),
        identifier: known.container
      )
    )
  }

  private convenience init(_ configuration: Result<CKContainerConfiguration, CKCredentialError>, identifier: String?) {
    self.init(Parts(configuration, identifier: identifier))
    account.belongs(to: self)
  }

  private init(_ parts: Parts) { self.parts = parts }

  /// Returns the same container with other settings. Settings that are not set there keep this instance's values.
  func configured(by settings: OperationSettings) -> CKContainer {
    CKContainer(
      Parts(
        configuration,
        client: client,
        account: account,
        assets: parts.assets,
        identifier: parts.identifier,
        settings: settings.completed(by: self.settings)
      )
    )
  }

  /// Returns the database with a scope.
  public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
    switch databaseScope {
    case .public: publicCloudDatabase
    case .private: privateCloudDatabase
    case .shared: sharedCloudDatabase
    }
  }

  /// Makes the client. The first call throws the error of an unusable configuration, because Apple's initializers
  /// cannot fail.
  private static func client(
    _ configuration: Result<CKContainerConfiguration, CKCredentialError>,
    _ account: AccountWatch
  ) -> Result<WebServicesClient, CKError> {
    switch configuration {
    case .failure(let error): return .failure(CKError(.notAuthenticated, error.message))
    case .success(let configuration) where configuration.identifier.isEmpty:
      return .failure(
        CKError(.badContainer, "No container is configured. Set CLOUDKIT_CONTAINER or call CKContainer.setDefault(_:).")
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
        instruments: Instruments(configuration.logger, logsReasons: configuration.logsReasons),
        cache: configuration.recordCache
      )
      return .success(WebServicesClient(settings, transport: configuration.transport))
    }
  }
}

// MARK: - Requests

extension CKContainer {
  /// Sends one request that belongs to no database and converts its error to a `CKError`.
  func perform<Answer: Sendable>(
    _ context: FailureContext,
    _ request: (WebServicesClient) async throws(WebServicesError) -> Answer
  ) async throws(CKError) -> Answer {
    // The databases share the container's client and settings.
    try await parts.publicDatabase.perform(context, request)
  }
}

// MARK: - The default container

extension CKContainer {
  private static let standard = Mutex<CKContainer?>(nil)

  /// Returns the container that a program uses by default: the one set with `setDefault(_:)`, or one made from the
  /// process's `CLOUDKIT_*` environment variables on the first call.
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

  /// Sets the default container of this process. Existing containers are not affected.
  public static func setDefault(_ container: CKContainer) { standard.withLock { $0 = container } }
}

// MARK: - The account

extension CKContainer {
  /// Returns whether a user account is available.
  ///
  /// Asks the server only if a web auth token is set. A server-to-server key always has its own user, so its status is
  /// `available`; without either, the status is `noAccount`.
  public func accountStatus() async throws -> CKAccountStatus {
    if case .serverToServerKey? = try configuration.mapError({ CKError(.notAuthenticated, $0.message) }).get()
      .credential
    {
      return .available
    }
    let status: CKAccountStatus
    do {
      guard try client.get().isSignedIn else { throw CKError(.notAuthenticated, "No user is signed in.") }
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

  /// Returns the ID of the signed-in user's record. Needs a web auth token: the server rejects this request with a key.
  public func userRecordID() async throws -> CKRecord.ID {
    let caller = try await perform(.read) { client throws(WebServicesError) in try await client.caller() }
    account.note(.available, user: caller.userRecordName)
    return CKRecordID(recordName: caller.userRecordName)
  }
}

/// The availability of a user account, with Apple's raw values.
public enum CKAccountStatus: Int, Sendable {
  /// The status is unknown.
  case couldNotDetermine = 0
  /// A user is signed in and available.
  case available = 1
  /// A policy restricts access to the account. Never produced here.
  case restricted = 2
  /// No user is signed in.
  case noAccount = 3
  /// The account is temporarily unavailable. Never produced here.
  case temporarilyUnavailable = 4
  /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
  @available(*, unavailable) case _unknown = -1
}
