import CloudKit
import CloudKitEmulator
import Foundation

/// A way from the client to a server. What the contract suite says holds on all of them.
enum ContractRoute: Hashable, Sendable, CustomStringConvertible {
  /// The emulator in this process.
  case inProcess
  /// The emulator behind a socket.
  case http
  /// A recording of the emulator, played again.
  case replayed
  /// Apple's server, where `CLOUDKIT_*` names a container with a web-auth token, and `CLOUDKIT_CONTRACT=live` asks for
  /// it.
  case live
  /// The emulator in this process with one other assumption, as `--assume` sets it.
  case assuming(String, EmulatorAssumptions)

  var description: String {
    switch self {
    case .inProcess: "in process"
    case .http: "http"
    case .replayed: "replayed"
    case .live: "live"
    case .assuming(let name, _): "assuming \(name)"
    }
  }

  /// The ways that are open here.
  static var open: [ContractRoute] {
    let isLive = ProcessInfo.processInfo.environment["CLOUDKIT_CONTRACT"] == "live"
    return [.inProcess, .http, .replayed] + (isLive ? [.live] : [])
  }

  /// The ways that are open here, and each other assumption: the contract holds however Apple's server behaves where
  /// that is not known.
  static var openAndAssuming: [ContractRoute] { open + assumptions }

  private static let assumptions: [ContractRoute] =
    flags.map { name, path in assuming(name) { $0[keyPath: path].toggle() } }
    + others("emptyBodySignature", \.emptyBodySignature) + others("missingCredentials", \.missingCredentials)
    + others("atomicFailure", \.atomicFailure) + others("updateWithoutTag", \.updateWithoutTag)
    + others("missingUpdate", \.missingUpdate) + others("deletionWithoutTag", \.deletionWithoutTag)
    + others("missingForceDelete", \.missingForceDelete) + others("repeatedRecord", \.repeatedRecord)
    + others("exceededLimit", \.exceededLimit) + others("unknownRecordType", \.unknownRecordType)
    + others("unknownField", \.unknownField) + others("unsortedOrder", \.unsortedOrder)
    + others("changesOrder", \.changesOrder) + others("emptySyncToken", \.emptySyncToken)
    + others("expiredSyncToken", \.expiredSyncToken) + others("callerEnvelope", \.callerEnvelope)
    + others("existingZone", \.existingZone) + others("missingZone", \.missingZone)
    + others("defaultZoneDeletion", \.defaultZoneDeletion) + others("uninvited", \.uninvited)
    + [
      assuming("rereferenceWrapper records") { $0.rereferenceWrapper = "records" },
      assuming("nearDistance 1000") { $0.nearDistance = 1000 },
      assuming("listLimit 1000") { $0.listLimit = 1000 }, assuming("filterLimit 20") { $0.filterLimit = 20 },
      assuming("zoneLimit 20") { $0.zoneLimit = 20 }, assuming("subscriptionLimit 20") { $0.subscriptionLimit = 20 },
      assuming("requestsPerSecond 1000") { $0.requestsPerSecond = 1000 },
    ]

  /// Without `developmentLearnsSchema`, which would refuse every record here: the contract declares no schema.
  private static let flags: [(String, any WritableKeyPath<EmulatorAssumptions, Bool> & Sendable)] = [
    ("listsTakePost", \.listsTakePost), ("sendsRetryAfterHeader", \.sendsRetryAfterHeader),
    ("cascadesLeaveTombstones", \.cascadesLeaveTombstones),
    ("learntTypesIndexSystemFields", \.learntTypesIndexSystemFields), ("emptyListsAddFields", \.emptyListsAddFields),
    ("comparesTextIgnoringCase", \.comparesTextIgnoringCase), ("negationsMatchNull", \.negationsMatchNull),
    ("acceptsDatabaseSubscriptions", \.acceptsDatabaseSubscriptions),
    ("acceptsSharedSubscriptions", \.acceptsSharedSubscriptions),
    ("subscriptionsAreZoneWide", \.subscriptionsAreZoneWide),
    ("participantsLeaveByDeletingShares", \.participantsLeaveByDeletingShares),
  ]

  private static func assuming(_ name: String, _ change: (inout EmulatorAssumptions) -> Void) -> ContractRoute {
    var assumptions = EmulatorAssumptions()
    change(&assumptions)
    return .assuming(name, assumptions)
  }

  /// One way for each value that is not the default.
  private static func others<Value: CaseIterable & Equatable>(
    _ name: String,
    _ path: WritableKeyPath<EmulatorAssumptions, Value>
  ) -> [ContractRoute] {
    let standard = EmulatorAssumptions()[keyPath: path]
    return Value.allCases.filter { $0 != standard }
      .map { value in assuming("\(name) \(value)") { $0[keyPath: path] = value } }
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
    case .assuming(_, let assumptions):
      var configuration = EmulatorConfiguration()
      configuration.assumptions = assumptions
      try await body(container(EmulatorTransport(try Emulator(configuration: configuration), now: { Date() })))
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
    return CKHTTPTransport(baseURL: url, timeout: .seconds(900), connectTimeout: .seconds(600), proxies: .none)
  }
}
