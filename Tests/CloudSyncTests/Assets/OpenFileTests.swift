import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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

  @Test(arguments: [EMFILE, ENFILE])
  func `a file that cannot be opened for want of descriptors is tried again, and is no dead letter`(_ code: Int32)
    async throws
  {
    let id = try device.store.accept(photo("r"))

    for _ in 0..<10 {
      try await AssetVault.$refusal.withValue(code) { _ = try await device.sync() }
      world.clock.advance(3600)
    }

    let operation = try device.store.operation(id)
    #expect(operation.state == .waiting && operation.errorCode == "TOO_MANY_OPEN_FILES" && operation.attempts == 0)
    #expect(operation.errorMessage?.contains("too many files are open") == true)
    try await device.sync()
    #expect(try device.store.queue().isEmpty && world.onServer("r") != nil)
  }

  @Test(arguments: [AssetKeeping.copied, .referenced])
  func `an asset that cannot be kept for want of descriptors is an error, and nothing is accepted`(
    _ keeping: AssetKeeping
  ) throws {
    let changes = [world.put("plain", [:]), try photo("r")]

    let error = #expect(throws: StoreError.self) {
      try AssetVault.$refusal.withValue(EMFILE) { _ = try device.store.enqueue(changes, assets: keeping) }
    }

    #expect(error == .tooManyOpenFiles)
    #expect(try device.store.queue().isEmpty)
  }

  @Test func `a file that is gone is a dead letter that says so`() async throws {
    let change = try photo("r")
    _ = try device.store.enqueue([change], assets: .referenced)
    try FileManager.default.removeItem(atPath: world.folder.path("r"))

    try await device.sync()

    let row = try #require(try device.store.operations().rows.first)
    #expect(row.state == .failed && row.errorCode == "ASSET_FILE_NOT_FOUND")
  }
}
