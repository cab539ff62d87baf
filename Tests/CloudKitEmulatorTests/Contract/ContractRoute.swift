import CloudKit
import CloudKitEmulator
import Foundation

/// A way from the client to a server. What the contract suite says holds on all of them.
enum ContractRoute: String, CaseIterable, Sendable, CustomStringConvertible {
  /// The emulator in this process.
  case inProcess
  /// The emulator behind a socket.
  case http
  /// A recording of the emulator, played again.
  case replayed
  /// Apple's server, where `CLOUDKIT_*` names a container with a web-auth token, and `CLOUDKIT_CONTRACT=live` asks for it.
  case live

  var description: String { rawValue }

  /// The ways that are open here.
  static var open: [ContractRoute] {
    let environment = ProcessInfo.processInfo.environment
    return allCases.filter { $0 != .live || environment["CLOUDKIT_CONTRACT"] == "live" }
  }

  private static let credential = CKCredential.webAuth(apiToken: "any", webAuthToken: "ana")
  private static let identifier = "iCloud.org.example.contract"

  /// Runs a body against a container of its own; against a recording, after it was made by running the body once.
  func run(_ body: (CKContainer) async throws -> Void) async throws {
    switch self {
    case .inProcess: try await body(container(EmulatorTransport(try Emulator(), now: { Date() })))
    case .http:
      let server = EmulatorServer(try Emulator())
      let port = try await server.start()
      let outcome: Result<Void, any Error>
      do { outcome = .success(try await body(container(try Self.transport(port)))) } catch { outcome = .failure(error) }
      try await server.stop(grace: .zero)
      try outcome.get()
    case .replayed:
      let file = FileManager.default.temporaryDirectory.appending(path: "contract-\(UUID().uuidString).ndjson")
      defer { try? FileManager.default.removeItem(at: file) }
      let emulator = EmulatorTransport(try Emulator(), now: { Date() })
      try await body(container(try CKRecordingTransport(emulator, to: file)))
      try await body(container(try CKReplayingTransport(contentsOf: file)))
    case .live:
      try await body(
        CKContainer(configuration: try CKContainerConfiguration.fromEnvironment(ProcessInfo.processInfo.environment))
      )
    }
  }

  private func container(_ transport: any CKTransport) -> CKContainer {
    CKContainer(identifier: Self.identifier, credential: Self.credential, transport: transport)
  }

  private static func transport(_ port: Int) throws -> CKHTTPTransport {
    guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw CocoaError(.fileReadUnknown) }
    // Of a thousand at once the last may wait long for its turn on a busy machine.
    return CKHTTPTransport(baseURL: url, timeout: .seconds(900), connectTimeout: .seconds(600), largestAnswer: 64 << 20)
  }
}
