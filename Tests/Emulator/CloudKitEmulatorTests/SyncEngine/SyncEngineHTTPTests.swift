import CloudKit
import CloudKitEmulator
import Foundation
import Testing

/// Engines that reach the emulator through a socket.
@Suite(.timeLimit(.minutes(40))) struct SyncEngineHTTPTests {
  private let emulator: Emulator
  private let server: EmulatorServer

  init() throws {
    emulator = try Emulator()
    server = EmulatorServer(emulator)
  }

  private func transport() async throws -> CKHTTPTransport {
    let url = try #require(URL(string: "http://127.0.0.1:\(try await server.start())"))
    return CKHTTPTransport(baseURL: url, proxies: .none)
  }

  @Test func `changes are sent over HTTP when they are added, and fetched after a push`() async throws {
    let transport = try await transport()
    let first = Device(emulator, over: transport, isAutomatic: true)
    let second = Device(emulator, over: transport, isAutomatic: true)
    first.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    first.write("a", "one")
    await wait { second.notes["a"] == "one" }

    second.write("b", "two")
    await wait { first.notes["b"] == "two" }

    for device in [first, second] { device.stop() }
    try await server.stop(grace: .zero)
  }

  @Test func `a conflict is resolved over HTTP, and a server that is gone leaves the change pending`() async throws {
    let transport = try await transport()
    let (first, second) = (
      Device(emulator, over: transport), Device(emulator, over: transport, react: Device.keepOwnVersion)
    )
    try await first.setUp()
    first.write("a", "one")
    try await first.engine.sendChanges()
    second.write("a", "two")
    #expect(await codeThrown { try await second.engine.sendChanges() } == .partialFailure)
    try await second.engine.sendChanges()
    try await first.engine.fetchChanges()
    #expect(first.notes == ["a": "two"])

    try await server.stop(grace: .zero)
    first.write("a", "three")
    // How far the request came on the kept connection before it closed depends on the machine.
    let code = await codeThrown { try await first.engine.sendChanges() }
    #expect([.networkUnavailable, .networkFailure, .serverResponseLost].contains(code))

    #expect(first.pending == ["saveRecord(a)"])
  }
}
