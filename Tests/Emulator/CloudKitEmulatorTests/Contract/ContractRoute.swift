import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation

/// A way from the client to the emulator.
enum ContractRoute: Hashable, Sendable {
  /// The emulator in this process.
  case inProcess
  /// The emulator behind a socket.
  case http

  private static let credential = CKCredential.webAuth(apiToken: "any", webAuthToken: "ana")
  private static let identifier = "iCloud.org.example.contract"

  /// Runs a body against a container of its own.
  func run(_ body: (CKContainer) async throws -> Void) async throws {
    switch self {
    case .inProcess: try await body(container(EmulatorTransport(try Emulator())))
    case .http:
      let server = EmulatorServer(try Emulator())
      let port = try await server.start()
      let outcome: Result<Void, any Error>
      do { outcome = .success(try await body(container(try Self.transport(port)))) } catch { outcome = .failure(error) }
      try await server.stop(grace: .zero)
      try outcome.get()
    }
  }

  private func container(_ transport: any CKTransport) -> CKContainer {
    CKContainer(identifier: Self.identifier, credential: Self.credential, transport: transport)
  }

  private static func transport(_ port: Int) throws -> CKHTTPTransport {
    guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw CocoaError(.fileReadUnknown) }
    // Of a thousand at once the last may wait long for its turn on a busy machine.
    return CKHTTPTransport(baseURL: url, timeout: .seconds(3_600), connectTimeout: .seconds(3_600), proxies: .none)
  }
}
