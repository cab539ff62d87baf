public import Foundation
public import Logging

/// What a container is reached with: Apple's systems take this from the app's signature, Linux from the program.
public struct CKContainerConfiguration: Sendable {
  /// Which of a container's two worlds.
  public enum Environment: String, Sendable, Hashable, CaseIterable {
    /// Where the schema grows with what is saved.
    case development
    /// Where the schema is fixed and the users are.
    case production
  }

  /// The container, such as `iCloud.org.example.notes`.
  public var identifier: String
  /// Which of the container's two worlds.
  public var environment: Environment
  /// Who the program is; nil reaches servers that ask nobody.
  public var credential: CKCredential?
  /// How requests travel.
  public var transport: any CKTransport
  /// Called with each web-auth token that replaces the one before, ahead of the answer it came with. Keep the newest: the
  /// documentation says that the former dies at once.
  public var webAuthTokenRotated: @Sendable (String) -> Void
  /// Called with a web-auth token that the server refused, or that its user signed out with: it is of no use any more.
  public var webAuthTokenRefused: @Sendable (String) -> Void
  /// Where requests are told of, without secrets and values: answers at `debug`, refusals and lost ones at `warning`.
  public var logger: Logger
  /// How the bytes of assets travel; nil: by `transport` where it can carry them, else over HTTP.
  public var assetTransport: (any CKAssetTransport)?
  /// When the files of assets are brought from the server.
  public var assetDownloads = CKAssetDownloads.eager
  /// Where downloaded files are kept while they are in use; nil: in a folder of this user's beside other temporary files.
  public var assetFolder: URL?
  /// How long a downloaded file whose address was read outlives its asset.
  package var assetGrace = AssetFolder.Place().grace

  /// Makes a configuration. Without a transport, requests go to Apple; without a logger, nothing is told.
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

  /// Reads `CLOUDKIT_CONTAINER`, `CLOUDKIT_ENVIRONMENT` (default `development`), `CLOUDKIT_URL` (default Apple's) and the
  /// credential (`CKCredential.fromEnvironment`) of an environment.
  ///
  /// - Throws: `CKCredentialError`, one line that names the variable at fault.
  public static func fromEnvironment(
    _ environment: [String: String]
  ) throws(CKCredentialError) -> CKContainerConfiguration {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    var world = Environment.development
    if let name = value("CLOUDKIT_ENVIRONMENT") {
      guard let named = Environment(rawValue: name) else {
        throw CKCredentialError("CLOUDKIT_ENVIRONMENT is '\(name)': it is development or production.")
      }
      world = named
    }
    var url = CKHTTPTransport.appleURL
    if let text = value("CLOUDKIT_URL") {
      guard let given = URL(string: text), given.host() != nil else {
        throw CKCredentialError("CLOUDKIT_URL is no URL of the form https://host:port.")
      }
      url = given
    }
    return CKContainerConfiguration(
      identifier: value("CLOUDKIT_CONTAINER") ?? "",
      environment: world,
      credential: try CKCredential.fromEnvironment(environment),
      transport: CKHTTPTransport(baseURL: url)
    )
  }
}
