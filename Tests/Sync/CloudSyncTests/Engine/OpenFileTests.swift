import CloudKit
import CloudKitEmulator
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CloudSync

@Suite(.serialized, .onFile) struct OpenFileTests {
  private let world: World
  private let device: TestDevice

  init() throws {
    world = try World()
    device = try world.device("a", assetTransport: AssetWire(world))
  }

  private func photo(_ name: String) throws -> Change {
    let file = URL(fileURLWithPath: world.folder.path(name))
    try Data("five!".utf8).write(to: file)
    return Change(
      world.key(name),
      .save(type: "Note", FieldChanges(values: ["photo": .asset(WireAsset())])),
      assets: ["photo": [AssetSource(file: file)]]
    )
  }

  @Test(arguments: [(EMFILE, true), (ENFILE, true), (ENOENT, false), (EACCES, false), (0, false)])
  func `an error of opening tells too many open files from a file's own trouble`(_ code: Int32, _ isWant: Bool) {
    #expect(AssetVault.isForWantOfDescriptors(code) == isWant)
  }

  @Test func `a file that cannot be opened for want of descriptors is uploaded later`() {
    let file = URL(fileURLWithPath: "/a")
    guard case .failed(let error) = Cycle.outcome(ofReading: file, "photo", AssetVault.TooManyOpenFiles()) else {
      Issue.record("the upload was given up")
      return
    }
    #expect(error.code.name == "TOO_MANY_OPEN_FILES" && error.effect == .notSent)
  }

  @Test func `a want of descriptors or of space refuses all changes, another error only its change`() {
    let file = URL(fileURLWithPath: "/a")
    func trouble(_ error: any Error) -> StoreError.Kind? {
      SyncStore.Refusal(keeping: file, for: "photo", error).trouble?.kind
    }
    #expect(trouble(AssetVault.TooManyOpenFiles()) == .cannotOpen)
    #expect(trouble(CocoaError(.fileWriteOutOfSpace)) == .diskFull)
    #expect(trouble(AssetVault.NoFile()) == nil)
  }

  @Test func `a file that is gone is a dead letter that says so`() async throws {
    let change = try photo("r")
    _ = try device.store.enqueue([change], assets: .referenced)
    try FileManager.default.removeItem(atPath: world.folder.path("r"))

    try await device.sync()

    let row = try #require(try device.store.operations().rows.first)
    #expect(row.state == .failed && row.errorCode == "ASSET_FILE_NOT_FOUND")
    #expect(try device.store.status().lastDay.failed == 1)
  }
}
