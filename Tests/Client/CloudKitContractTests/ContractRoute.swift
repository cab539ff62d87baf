import CloudKit
import CloudKitContract
import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudKitRecording
import Foundation
import Synchronization
import TestSupport

/// A way from the client to a server that behaves as assumed.
enum ContractRoute: Hashable, Sendable, CaseIterable {
  /// The emulator in this process.
  case inProcess
  /// The emulator behind a socket.
  case http
  /// A recording of the emulator, played again.
  case replayed
  /// Apple's server, where `CLOUDKIT_*` names a container with a web-auth token, and `CLOUDKIT_CONTRACT=live` asks for
  /// it.
  case live

  /// The ways that are open here.
  static var open: [ContractRoute] {
    let isLive = ProcessInfo.processInfo.environment["CLOUDKIT_CONTRACT"] == "live"
    return allCases.filter { $0 != .live || isLive }
  }

  /// Runs the checks; against a recording, after it was made by running them once.
  func report() async throws -> ContractReport {
    switch self {
    case .inProcess: return try await Server().report()
    case .http:
      let server = EmulatorServer(try Emulator())
      let port = try await server.start()
      let url = URL(string: "http://127.0.0.1:\(port)")
      let transport = CKHTTPTransport(baseURL: url ?? CKHTTPTransport.appleURL, proxies: .none)
      let result = await Result { try await Contract(Server.client(transport)).run() }
      try await server.stop(grace: .zero)
      return try result.get()
    case .replayed:
      let folder = try TemporaryFolder()
      let file = folder.url.appending(path: "contract.ndjson")
      let recording = try CKRecordingTransport(try Server().transport, to: file)
      _ = try await Contract(Server.client(recording), zoneName: Server.zoneName).run()
      let replay = try CKReplayingTransport(contentsOf: file)
      return try await Contract(Server.client(replay), zoneName: Server.zoneName).run()
    case .live:
      let configuration = try CKContainerConfiguration.fromEnvironment(ProcessInfo.processInfo.environment)
      let settings = WebServicesClient.Configuration(
        container: configuration.identifier,
        environment: configuration.environment.rawValue,
        credential: configuration.credential
      )
      return try await Contract(WebServicesClient(settings, transport: configuration.transport)).run()
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

/// An emulator whose clock moves by one second with each request, and the credential of its user or of its key.
final class Server: Sendable {
  static let container = "iCloud.org.example.contract"
  static let zoneName = ScratchZone.contract.rawValue + "0123abcd"
  static let webAuth = CKCredential.webAuth(apiToken: "an-api-token", webAuthToken: "ana")

  let emulator: Emulator
  let environment: String
  let credential: CKCredential
  private let seconds = Mutex(0.0)

  init(
    _ credential: CKCredential = webAuth,
    environment: String = "development",
    changing change: (inout EmulatorConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = EmulatorConfiguration()
    configuration.seed = 1
    change(&configuration)
    emulator = try Emulator(configuration: configuration)
    (self.credential, self.environment) = (credential, environment)
  }

  /// A server with the schema of the handbook in production, where writes add nothing.
  static func production(_ change: (inout EmulatorConfiguration) -> Void = { _ in }) throws -> Server {
    let server = try Server(environment: "production", changing: change)
    try server.emulator.importSchema(try schema(), container: container)
    try server.emulator.deploySchema(of: container)
    return server
  }

  /// A server that knows a server-to-server key.
  static func withKey(_ change: (inout EmulatorConfiguration) -> Void = { _ in }) throws -> Server {
    let generated = CKServerToServerKey.generate()
    let key = try CKServerToServerKey(keyID: generated.keyID, pemRepresentation: generated.privateKeyPEM)
    return try Server(.serverToServerKey(key)) {
      if let registered = try? ServerKey(generated.publicKeyPEM) { $0.serverKeys = [registered] }
      change(&$0)
    }
  }

  /// The schema that the handbook gives for production.
  static func schema() throws -> String {
    let text = try packageText("Sources/Handbook/Emulator/Contract.md")
    return text.firstMatch(of: /```\n(DEFINE SCHEMA[^`]*)```/).map { String($0.1) } ?? ""
  }

  private var now: Date { Date(timeIntervalSince1970: 1_767_322_800 + seconds.withLock { $0 }) }

  func pass(_ interval: Double) { seconds.withLock { $0 += interval } }

  var transport: EmulatorTransport {
    EmulatorTransport(
      emulator,
      now: { [self] in
        pass(1)
        return now
      }
    )
  }

  var client: WebServicesClient {
    let settings = WebServicesClient.Configuration(
      container: Self.container,
      environment: environment,
      credential: credential,
      now: { [self] in now }
    )
    return WebServicesClient(settings, transport: transport)
  }

  static func client(_ transport: any CKTransport) -> WebServicesClient {
    let settings = WebServicesClient.Configuration(
      container: container,
      environment: "development",
      credential: webAuth
    )
    return WebServicesClient(settings, transport: transport)
  }

  func report(checks: [ContractCheck] = ContractCheck.all, limit: Int = Contract.requestLimit) async throws
    -> ContractReport
  {
    try await Contract(client, zoneName: Self.zoneName, checks: checks, limit: limit) { [self] in
      pass(Double($0.components.seconds))
    }
    .run()
  }

  /// The names of the user's custom zones.
  func zones() async throws -> [String] {
    try await client.listZones(in: .private)
      .compactMap { if case .item(let zone) = $0 { zone.zoneID.zoneName } else { nil } }
      .filter { $0 != "_defaultZone" }
  }
}
