import Foundation
import Testing

@testable import CloudSync

@Suite struct LifetimeTests {
  @Test func `an engine and its store go when nobody holds them, and their files are closed`() async throws {
    weak var engine: SyncEngine?
    weak var store: SyncStore?
    let world = try World()
    func use() async throws {
      let device = try world.device("store")
      try device.store.accept(world.put("a", [:]))
      try await device.sync()
      (engine, store) = (device.engine, device.store)
    }

    try await use()

    #expect(engine == nil)
    #expect(store == nil)
    let links = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    let open = links.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
    #expect(open.filter { $0.hasPrefix(world.folder.url.path) } == [])
  }
}
