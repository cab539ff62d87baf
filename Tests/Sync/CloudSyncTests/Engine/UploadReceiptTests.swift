import CloudKit
import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// Upload receipts that are no longer valid: for a recreated zone, after a lost reply, or too old.
@Suite(.serialized, .onFile) struct UploadReceiptTests {
  private let world: World
  private let device: TestDevice

  init() throws {
    world = try World()
    device = try world.device("a")
  }

  /// A record with so many small files.
  private func album(_ name: String, files: Int) throws -> Change {
    let urls = (0..<files).map { URL(fileURLWithPath: world.folder.path("\(name)-\($0)")) }
    for url in urls { try Data(url.lastPathComponent.utf8).write(to: url) }
    let list = FieldValue.list(.asset, urls.map { _ in .asset(WireAsset()) })
    return Change(
      world.key(name),
      .save(type: "Note", FieldChanges(values: ["files": list])),
      assets: ["files": urls.map { AssetSource(file: $0) }]
    )
  }

  private func files(_ name: String) -> Int {
    if case .list(_, let elements)? = world.onServer(name)?["files"] { elements.count } else { 0 }
  }

  /// With time for what backs off.
  private func syncThrice() async throws {
    for _ in 0..<3 {
      try await device.sync()
      world.clock.advance(10)
    }
  }

  /// Somebody deletes the zone while the first request of an operation is on its way.
  private func deleteZone(at wanted: String) {
    let (world, zone) = (world, world.key("r").zone)
    device.transport.interfere { operation, number, _ in
      if operation == wanted, number == 1 {
        try? world.emulator.deleteZone(zone, in: world.server, at: world.clock.date)
      }
      return .pass
    }
  }

  @Test(arguments: ["records/modify", "assets/upload"])
  func `a zone that is gone when files are sent is made anew, and they are sent again`(_ operation: String) async throws
  {
    deleteZone(at: operation)
    try device.store.accept(try album("r", files: 8))

    try await syncThrice()

    #expect(files("r") == 8)
    #expect(try device.store.queue() == [])
  }

  @Test func `a creation whose answer was lost and that others deleted brings its files again`() async throws {
    let (world, key) = (world, world.key("r"))
    device.transport.interfere { operation, number, _ in
      if operation == "records/lookup", number == 1 {
        try? world.emulator.delete(recordName: key.name, in: world.server, zone: key.zone, at: world.clock.date)
      }
      return operation == "records/modify" && number == 1 ? .answerLost : .pass
    }
    try device.store.accept(try album("r", files: 1))

    try await syncThrice()

    #expect(files("r") == 1)
    #expect(try device.store.queue() == [])
  }

  @Test func `what refers to a record whose receipts are too old waits for it`() async throws {
    let link = FieldValue.reference(WireReference(recordName: "r", action: "VALIDATE"))
    try device.store.accept(try album("r", files: 1))
    try device.store.accept(world.put("child", ["of": link]))
    device.transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try await device.sync()
    world.clock.advance(20 * 60)
    device.transport.interfere(nil)

    try await device.sync()

    #expect(files("r") == 1)
    #expect(world.onServer("child") != nil)
    let sent = device.transport.bodies("records/modify").dropFirst()
    #expect(sent.first?.contains(#""child""#) == false || sent.first?.contains(#""r""#) == true)
    #expect(try device.store.detail(of: 2)?.attempts.contains { $0.code == "VALIDATING_REFERENCE_ERROR" } != true)
  }
}
