public import Foundation
public import Logging

/// The settings for reaching a container. Apple's systems take them from the app's signature; on Linux the program sets
/// them.
public struct CKContainerConfiguration: Sendable {
  /// A container's environment.
  public enum Environment: String, Sendable, Hashable, CaseIterable {
    /// The environment whose schema grows as new record types and fields are saved.
    case development
    /// The environment of the released app, whose schema is fixed.
    case production
  }

  /// The container's identifier, such as `iCloud.org.example.notes`.
  public var identifier: String
  /// The container's environment.
  public var environment: Environment
  /// The program's credential; nil for servers that need none.
  public var credential: CKCredential?
  /// The transport that sends requests.
  public var transport: any CKTransport { didSet { renewCache() } }
  /// Called with each web auth token that replaces the previous one, before the reply that contained it is returned.
  /// Keep the newest token: the documentation says that the previous one is invalid at once.
  public var webAuthTokenRotated: @Sendable (String) -> Void
  /// Called with a web auth token for which the server asks for a new sign-in, or whose user signed out: it is no
  /// longer valid. A rejected API token leaves the user signed in.
  ///
  /// This callback and `webAuthTokenRotated` may sign in or out, which happens when the callback has returned. They
  /// must not wait for a request of the container.
  public var webAuthTokenRefused: @Sendable (String) -> Void
  /// The logger for requests, without secrets and field values: replies at `debug`, rejected requests and lost replies
  /// at `warning`.
  public var logger: Logger
  /// Whether the log has the reason that the server or the network gave, besides the code.
  public var logsReasons = true
  /// The transport for asset files; nil for that of `transport`.
  public var assetTransport: (any CKAssetTransport)?
  /// When asset files are downloaded.
  public var assetDownloads = CKAssetDownloads.eager
  /// The folder for downloaded files that are in use; nil for a folder of this user next to other temporary files.
  public var assetFolder: URL?
  /// The cache of records that are fetched by ID; off by default. Containers made from copies of this configuration
  /// share one cache, as long as neither this setting nor the transport is set in a copy.
  public var cache = CKRecordCacheSettings.off { didSet { renewCache() } }
  package var recordCache: SharedRecordCache?
  /// How long a downloaded file is kept after its asset is gone, if its URL was read.
  package var assetGrace = AssetFolder.Options().grace

  /// Makes a configuration. By default, requests go to Apple; without a logger, nothing is logged.
  public init(
    identifier: String,
    environment: Environment = .development,
    credential: CKCredential?,
    transport: any CKTransport = CKHTTPTransport(),
    webAuthTokenRotated: @escaping @Sendable (String) -> Void = { _ in },
    webAuthTokenRefused: @escaping @Sendable (String) -> Void = { _ in },
    logger: Logger? = nil
  ) {
    self.identifier = identifier
    self.environment = environment
    self.credential = credential
    self.transport = transport
    self.webAuthTokenRotated = webAuthTokenRotated
    self.webAuthTokenRefused = webAuthTokenRefused
    self.logger = logger ?? Instruments.silent
  }

  private mutating func renewCache() { recordCache = cache.isEnabled ? SharedRecordCache(cache) : nil }

  /// Reads a configuration from environment variables: `CLOUDKIT_CONTAINER`, `CLOUDKIT_ENVIRONMENT` (default
  /// `development`), `CLOUDKIT_URL` (default Apple's), the credential (`CKCredential.fromEnvironment`), and the proxy
  /// in `HTTPS_PROXY` and `NO_PROXY`.
  ///
  /// - Throws: `CKCredentialError`, one line that names the invalid variable.
  public static func fromEnvironment(
    _ environment: [String: String]
  ) throws(CKCredentialError) -> CKContainerConfiguration {
    func value(_ variable: EnvironmentVariable) -> String? { variable.value(in: environment) }

    var selected = Environment.development
    if let name = value(.environment) {
      guard let named = Environment(rawValue: name) else {
        throw CKCredentialError("CLOUDKIT_ENVIRONMENT is '\(name)': set it to development or production.")
      }
      selected = named
    }
    var url = CKHTTPTransport.appleURL
    if let text = value(.url) {
      guard let given = URL(string: text), given.host() != nil else {
        throw CKCredentialError("CLOUDKIT_URL is not a URL of the form https://host:port.")
      }
      url = given
    }
    return CKContainerConfiguration(
      identifier: value(.container) ?? "",
      environment: selected,
      credential: try CKCredential.fromEnvironment(environment),
      transport: CKHTTPTransport(baseURL: url, proxies: ProxySettings(environment: environment))
    )
  }
}
