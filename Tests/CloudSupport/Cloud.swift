package import CloudKit
package import CloudKitEmulator
import CloudKitEmulatorTransport
import TestSupport

/// A server in memory, the containers of its users, and a folder for their stores.
package final class Cloud: Sendable {
  package static let identifier = "iCloud.test"

  package let emulator: Emulator
  /// The requests of all containers that have no transport of their own.
  package let requests: RequestLog
  private let folder: TemporaryFolder

  package init() throws {
    emulator = try Emulator()
    requests = RequestLog(EmulatorTransport(emulator))
    folder = try TemporaryFolder()
  }

  /// The container of ana.
  package var container: CKContainer { container(of: "ana") }

  package func container(
    of user: String,
    named identifier: String = Cloud.identifier,
    over transport: (any CKTransport)? = nil,
    _ change: (inout CKContainerConfiguration) -> Void = { _ in }
  ) -> CKContainer {
    var configuration = configuration(of: user, named: identifier, over: transport)
    change(&configuration)
    return CKContainer(configuration: configuration)
  }

  package func configuration(
    of user: String,
    named identifier: String = Cloud.identifier,
    over transport: (any CKTransport)? = nil
  ) -> CKContainerConfiguration {
    var configuration = CKContainerConfiguration(
      identifier: identifier,
      credential: .webAuth(apiToken: "token", webAuthToken: user),
      transport: transport ?? requests
    )
    // A slow machine reads the file of a model late.
    configuration.assetGrace = .seconds(3600)
    return configuration
  }

  /// The path of a file in a folder that is removed with the server.
  package func path(_ name: String) -> String { folder.path(name) }

  /// Rejects each save of records of these names from now on, and no others.
  package func refuse(_ names: String...) {
    emulator.faults = FaultPlan(rules: names.map { FaultRule(when: FaultCondition(recordName: $0), then: .poison) })
  }
}
