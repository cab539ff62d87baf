import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Glibc
import TestSupport
import Testing

@testable import CloudSync
@testable import cktop

/// Green only when it is true: what a look at the store says of a syncing process that stopped, and of a silent server.
@Suite(.serialized, .timeLimit(.minutes(40))) struct ProofOfLifeTests {
  private static let scope = SyncStore.Scope(
    container: "iCloud.org.example.life",
    environment: "development",
    database: .private
  )

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func store(ahead: Int64 = 0) throws -> SyncStore {
    try SyncStore(path: folder.path("store.sqlite"), scope: Self.scope) {
      Int64(Date().timeIntervalSince1970 * 1000) + ahead
    }
  }

  private func start(_ url: String, _ verb: String...) throws -> Child {
    try Child(
      Binary.cktop().path,
      (verb.isEmpty ? ["sync", "--watch"] : verb) + [
        "--store", folder.path("store.sqlite"), "--container", Self.scope.container, "--database",
        "private", "--url", url,
      ],
      environment: folder.environment.merging(["CLOUDKIT_API_TOKEN": "test", "CLOUDKIT_WEB_AUTH_TOKEN": "ana"]) { $1 },
      error: folder.path("log")
    )
  }

  /// Waits for a fact about other processes, which nothing here can announce; the test's time limit bounds it.
  private func until(_ isTrue: () throws -> Bool) async throws {
    while try !isTrue() { try await Task.sleep(for: .milliseconds(5)) }
  }

  private func enqueue(_ name: String, in store: SyncStore) throws {
    _ = try store.enqueue([Change(RecordKey(ZoneKey(zone: "z"), name), .save(type: "Row", FieldChanges()))])
  }

  /// Whether a change could be enqueued; not while another process holds the store.
  private func isEnqueued(_ name: String, in store: SyncStore) throws -> Bool {
    do {
      try enqueue(name, in: store)
      return true
    } catch let error as StoreError where error.isTransient {
      return false
    }
  }

  @Test func `a stopped process with work is no syncing process, and is one again when it goes on`() async throws {
    let server = EmulatorServer(try Emulator())
    let store = try store()
    let process = try start("http://127.0.0.1:\(try await server.start())")
    try await until { try store.status().isInSync && store.engineRest().rest != nil }
    await process.stop()
    // One that was stopped in the middle of a write holds the store.
    while !(try isEnqueued("a", in: store)) {
      process.send(SIGCONT)
      await process.stop()
    }

    // Looks of ten seconds later, at the same state.
    let later = try self.store(ahead: 10_000)
    try await until { try later.status().syncingProcess?.stalledSince != nil }
    let verdict = try later.status().verdict(hasCredential: true)
    guard case .notSyncing(1, nil, let stall?) = verdict else { throw Unexpected(verdict: verdict) }
    #expect(stall.pid == Int64(process.pid))
    #expect(try !later.status().isInSync)

    process.send(SIGCONT)
    try await until { try store.status().isInSync }
    process.send(SIGTERM)
    #expect(await process.end() == .exited(0))
    try await server.stop()
  }

  @Test func `a stopped process with nothing to send is no syncing process either`() async throws {
    let server = EmulatorServer(try Emulator())
    let store = try store()
    let process = try start("http://127.0.0.1:\(try await server.start())")
    try await until { try store.status().isInSync && store.engineRest().rest?.wakesAt != nil }
    await process.stop()

    // At once, long before its next poll.
    #expect(try store.status().verdict(hasCredential: true).kind == .notSyncing)

    process.send(SIGCONT)
    process.send(SIGTERM)
    #expect(await process.end() == .exited(0))
    try await server.stop()
  }

  @Test func `a stopped process is named after another one synced in its place and ended`() async throws {
    let server = EmulatorServer(try Emulator())
    let url = "http://127.0.0.1:\(try await server.start())"
    let store = try store()
    let process = try start(url)
    try await until { try store.status().isInSync && store.engineRest().rest?.wakesAt != nil }
    await process.stop()
    while !(try isEnqueued("a", in: store)) {
      process.send(SIGCONT)
      await process.stop()
    }
    let once = try start(url, "sync")
    #expect(await once.end() == .exited(0))

    // The one that ended is named nowhere, now and with the next change.
    for name in [nil, "b"] {
      if let name { try enqueue(name, in: store) }
      let status = try store.status()
      #expect(status.syncingProcess?.pid == Int64(process.pid) && status.syncingProcess?.isLive == false)
      guard case .notSyncing(_, nil, let stall?) = status.verdict(hasCredential: true) else {
        throw Unexpected(verdict: status.verdict(hasCredential: true))
      }
      #expect(stall.pid == Int64(process.pid) && stall.isStopped && stall.remedy == "kill -CONT \(process.pid)")
      let later = try self.store(ahead: 60_000).status()
      #expect(later.syncingProcess == status.syncingProcess)
    }

    process.send(SIGCONT)
    try await until { try store.status().isInSync && store.status().syncingProcess?.isLive == true }
    #expect(try store.status().syncingProcess?.pid == Int64(process.pid))
    process.send(SIGTERM)
    #expect(await process.end() == .exited(0))
    try await server.stop()
  }

  @Test func `ten days after the last sync the store is out of date`() async throws {
    let server = EmulatorServer(try Emulator())
    let store = try store()
    let process = try start("http://127.0.0.1:\(try await server.start())")
    try await until { try store.status().isInSync }
    process.send(SIGTERM)
    #expect(await process.end() == .exited(0))

    #expect(try store.status().verdict(hasCredential: true).kind == .inSync)
    #expect(try self.store(ahead: 10 * 86_400_000).status().verdict(hasCredential: true).kind == .outOfDate)
    try await server.stop()
  }

  @Test func `a server that does not answer is offline`() async throws {
    let silent = try SilentServer()
    let store = try store()
    try enqueue("a", in: store)
    let process = try start("http://127.0.0.1:\(silent.port)")

    try await until { try store.status().verdict(hasCredential: true).kind == .offline }
    try await until { try String(contentsOfFile: folder.path("log"), encoding: .utf8).contains(" state offline") }

    #expect(try store.status().silentSince != nil)
    process.send(SIGTERM)
    #expect(await process.end() == .exited(0))
  }

  private struct Unexpected: Error { var verdict: Facts.Verdict }
}

/// A server whose connections are made by the kernel, and that never answers.
private final class SilentServer {
  let port: UInt16
  private let descriptor: Int32

  private struct NotListening: Error {}

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard bound else { throw NotListening() }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }
}
