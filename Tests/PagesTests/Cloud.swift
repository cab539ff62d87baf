import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation

/// A server, connections to it, and a folder for stores.
final class Cloud: Sendable {
  var container: CKContainer { container(of: "ana") }
  private let emulator: Emulator
  private let folder = FileManager.default.temporaryDirectory.appending(path: "cktop-pages-\(UUID().uuidString)")

  init() throws {
    emulator = try Emulator()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The container as a user sees it.
  func container(of user: String) -> CKContainer { CKContainer(configuration: configuration(of: user)) }

  func configuration(of user: String) -> CKContainerConfiguration {
    var configuration = CKContainerConfiguration(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: user),
      transport: EmulatorTransport(emulator)
    )
    // A slow machine reads the file of a model late.
    configuration.assetGrace = .seconds(3600)
    return configuration
  }

  func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

  func goOffline() { emulator.isOffline = true }

  /// Rejects each save of a record of this name.
  func refuse(_ name: String) {
    emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: name), then: .poison)])
  }
}
