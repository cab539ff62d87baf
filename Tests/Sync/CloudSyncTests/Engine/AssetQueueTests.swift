import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Facts
import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

@Suite(.serialized, .onFile) struct AssetQueueTests {
  private let world: World
  private let wire: AssetWire
  private let device: TestDevice

  init() throws {
    world = try World()
    wire = AssetWire(world)
    device = try world.device("a", assetTransport: wire)
  }

  private func file(_ name: String, _ text: String) throws -> URL {
    let url = URL(fileURLWithPath: world.folder.path(name))
    try Data(text.utf8).write(to: url)
    return url
  }

  private func photo(_ name: String, _ files: URL..., field: String = "photo") -> Change {
    let sources = files.map { AssetSource(file: $0) }
    let value: FieldValue =
      files.count == 1 ? .asset(WireAsset()) : .list(.asset, files.map { _ in .asset(WireAsset()) })
    return Change(
      world.key(name),
      .save(type: "Note", FieldChanges(values: [field: value, "title": .string(name)])),
      assets: [field: sources]
    )
  }

  /// What the server has of the bytes of a record's fields.
  private func sizes(_ name: String, field: String = "photo") -> [Int] {
    switch world.onServer(name)?[field] {
    case .asset(let asset): [asset.size]
    case .list(_, let elements):
      elements.compactMap { element in
        if case .asset(let asset) = element { asset.size } else { nil }
      }
    default: []
    }
  }

  private var kept: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: world.folder.path("a.sqlite.assets"))) ?? []
  }

  @Test func `the bytes of an asset that a conflict cost are there until nobody can undo it`() async throws {
    let other = try world.device("b")
    try device.store.accept(world.put("r", ["title": .string("r")]))
    try await device.sync()
    try await other.sync()
    let id = try device.store.accept(photo("r", try file("photo", "five!")))
    try other.store.accept(world.delete("r"))
    try await other.sync()
    try await device.sync()
    #expect(world.onServer("r") == nil)
    #expect(kept.count == 1)

    _ = try device.store.undo(id, actor: "ana")
    try await device.sync()

    #expect(sizes("r") == [5])
    try device.store.removeUnneededAssets()
    #expect(kept == [])
  }

  @Test func `a copied file is sent whatever becomes of the original, and its copy goes with the operation`()
    async throws
  {
    let original = try file("photo", "five!")
    try device.store.accept(photo("r", original))
    try FileManager.default.removeItem(at: original)
    let keptBefore = kept
    try await device.sync()

    #expect(keptBefore.count == 1)
    #expect(sizes("r") == [5])
    #expect(try device.store.queue().isEmpty)
    #expect(kept.isEmpty)
  }

  @Test func `a copy goes with the last change that needs it, also with one that can no longer be undone`() throws {
    let same = try file("same", "the same")
    let ids = try ["r", "s", "t"].map { try device.store.accept(photo($0, same)) }
    func keptAfter(_ body: () throws -> Void) throws -> Int {
      try body()
      try device.store.removeUnneededAssets(amongAll: false)
      return kept.count
    }
    func discard(_ id: Int64, isFinal: Bool) throws {
      _ = try device.store.perform(.discard, on: .ids([id]), isFinal: isFinal, actor: "ana")
    }

    #expect(try keptAfter { try discard(ids[0], isFinal: true) } == 1)
    #expect(try keptAfter { try device.store.accept(photo("s", file("other", "another"))) } == 2)
    #expect(try keptAfter { try discard(ids[1], isFinal: true) } == 1)
    #expect(try keptAfter { try discard(ids[2], isFinal: false) } == 1)
    #expect(try keptAfter { try device.store.accept(world.put("t", ["x": .int64(1)])) } == 0)
  }

  @Test func `a list of files keeps its order`() async throws {
    try device.store.accept(photo("r", try file("a", "1"), try file("b", "22"), try file("c", "333"), field: "photos"))
    try await device.sync()

    #expect(sizes("r", field: "photos") == [1, 2, 3])
  }

  @Test func `a hundred records with the same bytes cost one upload`() async throws {
    let same = try file("same", "the same")
    for number in 0..<100 { try device.store.accept(photo("r\(number)", same)) }
    try await device.sync()

    #expect((0..<100).allSatisfy { sizes("r\($0)") == [8] })
    #expect(wire.uploads == 1)
    #expect(device.transport.count("assets/rereference") == 1)
    #expect(device.transport.count("records/modify") == 2)
  }

  @Test func `bytes that a record of the zone holds are not uploaded again, and the same field is unchanged`()
    async throws
  {
    let same = try file("same", "the same")
    try device.store.accept(photo("a", same))
    try await device.sync()
    try device.store.accept(photo("b", same))
    try await device.sync()

    #expect(wire.uploads == 1)
    #expect(sizes("b") == [8])
    #expect(try device.store.enqueue([photo("a", same)]) == [.unchanged])
  }

  @Test func `a reply about another field gives no receipt, and the file is uploaded`() async throws {
    let same = try file("same", "the same")
    try device.store.accept(photo("a", same))
    try await device.sync()
    let checksum = try #require(try device.store.mirror("a")?["photo"]?.assets?.first?.fileChecksum)
    device.transport.answer(
      "assets/rereference",
      #"{"assets":[{"recordName":"c","fieldName":"photo","fileChecksum":"\#(checksum)","size":8,"receipt":"others"}]}"#
    )
    try device.store.accept(photo("b", same))

    try await device.sync()

    #expect(device.transport.count("assets/rereference") == 1 && wire.uploads == 2)
    #expect(sizes("b") == [8])
    #expect(!device.transport.bodies("records/modify").contains { $0.contains("others") })
  }

  @Test func `the known places of bytes end with the record or the bytes`() async throws {
    let places = { try device.store.file.writer.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM assetPlaces") } }
    for number in 1...4 {
      try device.store.accept(photo("a", try file("\(number)", "bytes \(number)")))
      try device.store.accept(photo("b", try file("\(number)", "bytes \(number)")))
      try await device.sync()
    }
    #expect(try places() == 1)

    try device.store.accept(world.delete("a"))
    try device.store.accept(world.delete("b"))
    try await device.sync()
    #expect(try places() == 0)
  }

  @Test func `where the record that held the bytes is gone, they are uploaded again`() async throws {
    let same = try file("same", "the same")
    try device.store.accept(photo("a", same))
    try await device.sync()
    try device.store.accept(photo("b", same))
    // Somebody else empties the field before the reference is asked for.
    let other = try world.device("b")
    try await other.sync()
    let change = FieldChanges(values: ["title": .string("x")], cleared: ["photo"])
    try other.store.accept(Change(world.key("a"), .save(type: "Note", change)))
    try await other.sync()
    try await device.sync()

    #expect(sizes("b") == [8])
    #expect(wire.uploads == 2)
  }

  @Test(arguments: ["as noted", "other bytes"])
  func `a noted file that has changed becomes a dead letter that says so, and a retry sends it as it is then`(
    bytes: String
  ) async throws {
    let noted = try file("noted", "as noted")
    let accepted = try device.store.enqueue([photo("r", noted)], assets: .referenced)
    guard case .enqueued(let id)? = accepted.first else { throw StoreError(.invalid, "not accepted") }
    try Data("changed!".utf8).write(to: noted)
    try await device.sync()
    let failed = try device.store.operation(id)
    try Data(bytes.utf8).write(to: noted)
    _ = try device.store.perform(.retry, on: .ids([id]), actor: "test")
    try await device.sync()

    #expect(failed.state == .failed)
    #expect(failed.errorCode == "ASSET_FILE_MODIFIED")
    #expect(failed.cause.text.contains(noted.path))
    #expect(sizes("r") == [bytes.utf8.count])
    #expect(try device.store.queue().isEmpty)
    #expect(kept.isEmpty)
  }

  @Test(arguments: ["othr!", "fiv"])
  func `a copy that the disk has damaged is not sent, and can be put again`(damage: String) async throws {
    let photo = photo("r", try file("photo", "five!"))
    let id = try device.store.accept(photo)
    let copy = world.folder.path("a.sqlite.assets/\(try #require(kept.first))")
    try Data(damage.utf8).write(to: URL(fileURLWithPath: copy))
    try await device.sync()
    let failed = try device.store.operation(id)

    #expect(failed.errorCode == "ASSET_FILE_MODIFIED")
    #expect(failed.cause.text.contains(copy))
    #expect(wire.uploads == 0)
    try device.store.accept(photo)
    try await device.sync()
    #expect(sizes("r") == [5])
  }

  @Test func `a file that is not there is refused at once`() throws {
    let nowhere = URL(fileURLWithPath: world.folder.path("nowhere"))
    guard case .refused(let reason)? = try device.store.enqueue([photo("r", nowhere)]).first else {
      throw StoreError(.invalid, "accepted")
    }

    #expect(reason.contains(nowhere.path))
    #expect(try device.store.queue().isEmpty)
  }

  @Test func `a receipt that has grown too old is asked for again`() async throws {
    try device.store.accept(photo("r", try file("photo", "five!")))
    device.transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try await device.sync()
    device.transport.interfere(nil)
    world.clock.advance(16 * 60)
    try await device.sync()

    #expect(wire.uploads == 2)
    #expect(sizes("r") == [5])
    #expect(try device.store.queue().isEmpty)
  }

  @Test func `files that take longer to upload than their receipts live are not uploaded for ever`() async throws {
    wire.slowDown(to: 850)
    // Each of them as large as a step takes.
    let large = String(repeating: "x", count: 17 << 20)
    let id = try device.store.accept(photo("r", try file("one", large + "1"), try file("two", large + "2")))
    try device.store.accept(world.put("plain", ["title": .string("x")]))

    for _ in 0..<20 { try await device.sync() }

    #expect(try device.store.queue() == ["save r failed"])
    #expect(try device.store.operation(id).errorCode == "ASSET_UPLOAD_EXPIRED")
    #expect(world.onServer("plain") != nil)
    let uploads = wire.uploads
    try await device.sync()
    #expect(wire.uploads == uploads)
    // A faster line, and somebody tries again.
    wire.slowDown(to: 1)
    _ = try device.store.perform(.retry, on: .all, actor: "test")
    try await device.sync()
    #expect(sizes("r") == [(17 << 20) + 1, (17 << 20) + 1])
  }

  @Test func `a file that is queued outlasts its record's being read back and saved again, also in another record`()
    async throws
  {
    let source = try file("photo", "five!")
    device.transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try device.store.accept(photo("r", source))
    try await device.sync()
    try FileManager.default.removeItem(at: source)
    let record = try #require(try device.engine.record(world.key("r").recordID))

    let copy = CKRecord(recordType: "Note", recordID: world.key("copy").recordID)
    copy["photo"] = record["photo"] as? CKAsset
    record["second"] = record["photo"] as? CKAsset
    record["photo"] = record["photo"] as? CKAsset
    try device.engine.save([record, copy])
    try device.store.removeUnneededAssets()
    device.transport.interfere(nil)
    world.clock.advance(600)
    try await device.sync()

    #expect(try device.store.queue() == [])
    #expect(sizes("r") == [5] && sizes("r", field: "second") == [5] && sizes("copy") == [5])
  }

  @Test func `a quota that is full for hours makes no dead letter of a record with files`() async throws {
    let id = try device.store.accept(photo("r", try file("photo", "five!")))
    device.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      return .answer(status: 413, #"{"serverErrorCode":"QUOTA_EXCEEDED","reason":"full"}"#)
    }
    for _ in 0..<200 {
      try await device.sync()
      world.clock.advance(61)
    }
    #expect(try device.store.queue() == ["save r pending"])
    #expect(try device.store.operation(id).attempts == 0)
    device.transport.interfere(nil)

    try await device.sync()

    #expect(sizes("r") == [5])
  }

  @Test func `a lost answer is no conflict about the asset`() async throws {
    try device.store.accept(photo("r", try file("photo", "five!")))
    device.transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 1 ? .answerLost : .pass
    }
    try await device.sync()

    #expect(try device.store.endings() == ["save r acknowledged"])
    #expect(wire.uploads == 1)
  }

  @Test func `what a server says of the size of its files ends nothing`() async throws {
    try device.store.accept(photo("known", try file("photo", "five!")))
    try await device.sync()
    let checksum = try #require(try device.store.mirror("known")?["photo"]?.assets?.first?.fileChecksum)
    for name in ["a", "b"] {
      var source = AssetSource(file: URL(fileURLWithPath: "/"))
      (source.file, source.checksum, source.size) = (nil, checksum, .max)
      source.place = WireAssetPlace(recordName: "known", fieldName: "photo")
      let values = ["photo": FieldValue.asset(WireAsset(fileChecksum: checksum, size: .max))]
      let kind = Change.Kind.save(type: "Note", FieldChanges(values: values))
      try device.store.accept(Change(world.key(name), kind, assets: ["photo": [source]]))
    }

    try await device.sync()

    #expect(try device.store.queue() == [])
    #expect(sizes("a") == [5] && sizes("b") == [5])
  }

  @Test(arguments: ["assets/upload", "assets/rereference"])
  func `nothing is asked for inside the wait that came with a refusal of files`(operation: String) async throws {
    let isKnown = operation == "assets/rereference"
    let files = try ["one", "two", "three"].map { try file($0, $0) }
    if isKnown {
      for url in files { try device.store.accept(photo("first \(url.lastPathComponent)", url)) }
      try await device.sync()
    }
    for url in files { try device.store.accept(photo(url.lastPathComponent, url)) }
    try device.store.accept(photo("other", try file("other", "other")))
    let before = device.transport.count(operation)
    let asked = { ["assets/upload", "assets/rereference"].reduce(0) { $0 + device.transport.count($1) } }
    let sent = asked()
    device.transport.interfere { reached, number, _ in
      guard reached == operation, number == before + 1 else { return .pass }
      return .answer(status: 500, #"{"serverErrorCode":"INTERNAL_ERROR","reason":"x","retryAfter":60}"#)
    }

    try await device.sync()
    #expect(asked() == sent + 1)
    #expect(try device.store.status().throttles.map(\.scope.name) == ["database"])
    for _ in 0..<5 {
      world.clock.advance(130)
      try await device.sync()
    }

    #expect(try device.store.queue() == [])
  }

  @Test(arguments: [false, true], [(500, "INTERNAL_ERROR"), (200, "")])
  func `a file over which the server fails holds up no other`(isKnown: Bool, answer: (Int, String)) async throws {
    let same = try file("same", "bytes")
    if isKnown {
      try device.store.accept(photo("first", same))
      try await device.sync()
    }
    for name in ["a", "bad", "c", "d"] {
      try device.store.accept(photo(name, isKnown && name == "bad" ? same : try file(name, "bytes of \(name)")))
    }
    let wanted = isKnown ? "assets/rereference" : "assets/upload"
    let broken = #"{"serverErrorCode":"\#(answer.1)","reason":"broken"}"#
    let text = answer.1.isEmpty ? #"{"tokens":[],"assets":[]}"# : broken
    device.transport.interfere { operation, _, body in
      operation == wanted && (isKnown || body.contains("bad")) ? .answer(status: answer.0, text) : .pass
    }

    for _ in 0..<3 {
      try await device.sync()
      world.clock.advance(2)
    }

    for name in ["a", "c", "d"] { #expect(world.onServer(name) != nil) }
    #expect(try isKnown || device.store.queue().map { $0.hasPrefix("save bad") } == [true])
  }

  @Test func `an asset host that cannot be reached holds its record alone, and spends its attempts`() async throws {
    let id = try device.store.accept(photo("r", try file("photo", "five!")))
    try device.store.accept(world.put("plain", ["title": .string("x")]))
    wire.cut(true)
    try await device.sync()
    let held = try device.store.operation(id)
    wire.cut(false)
    world.clock.advance(600)
    try await device.sync()

    #expect(held.state == .waiting)
    #expect(held.errorCode == "NETWORK_ERROR")
    #expect(world.onServer("plain") != nil)
    #expect(sizes("r") == [5])
  }

  @Test func `another file put in before the first is sent is the one that goes`() async throws {
    try device.store.accept(photo("r", try file("one", "1")))
    try device.store.accept(photo("r", try file("two", "22")))
    try await device.sync()

    #expect(sizes("r") == [2])
    #expect(wire.uploads == 1)
    #expect(kept.isEmpty)
  }

  @Test func `a driver that dies between upload and save costs nothing but the time`() async throws {
    try device.store.accept(photo("r", try file("photo", "five!")))
    let dying = try #require(try Lease.acquire(device.store))
    try device.store.zonesMade(
      [world.scope.zoneForChangesWithoutOne],
      [.item(WireZone(zoneID: world.scope.zoneForChangesWithoutOne.wire))],
      random: 0,
      dying
    )
    try world.emulator.createZone(world.scope.zoneForChangesWithoutOne.zone, in: world.server, at: world.clock.date)
    guard case .supplyAssets(let zone, let ids) = try device.store.plan() else {
      throw StoreError(.invalid, "no upload is planned")
    }
    try await Cycle(device.engine, Session(), dying, SyncRequests()).supplyAssets(zone, ids)
    dying.release(device.store)
    let successor = try world.device("a", assetTransport: wire)
    try await successor.sync()

    #expect(sizes("r") == [5])
    #expect(wire.uploads == 1)
  }

  @Test func `a file that breaks off each time is tried less and less, and in the end left to a person`() async throws {
    wire.breakOff()
    let id = try device.store.accept(photo("a", try file("photo", "bytes")))
    var waits: [Int64] = []
    while try device.store.operation(id).state != .failed, waits.count < 20 {
      try await device.sync()
      guard let end = try device.store.operation(id).nextAttemptAt else { break }
      waits.append(end - world.clock.now)
      world.clock.advance(to: end)
    }

    // The line may be bad: it is no record's fault before that has lasted for long.
    #expect(
      waits == [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000] + Array(repeating: 150_000, count: 7)
    )
    #expect(try device.store.queue() == ["save a failed"])
    #expect(wire.uploads == 17)
  }

  @Test func `files have their turn also where there is always something to be sent`() throws {
    try device.store.accept(photo("a", try file("photo", "bytes")))
    try device.store.accept(world.put("b", [:]))
    let steps = try (0..<32).map { turn in
      try device.store.storage.write { ledger in
        try ledger.setState(world.key("a").zoneKey, .ready)
        try ledger.setValue(.turn, Int64(turn))
      }
      if case .supplyAssets = try device.store.plan() { return true }
      return false
    }

    #expect(steps.count { $0 } == 1)
  }

  @Test func `the file of an asset that came can be downloaded, by the delegate's record and by the engine's`()
    async throws
  {
    try device.store.accept(photo("a", try file("photo", "bytes")))
    try await device.sync()
    let container = CKContainer(
      identifier: World.container,
      credential: .webAuth(apiToken: "token", webAuthToken: world.user),
      transport: EmulatorTransport(world.emulator, now: { [clock = world.clock] in clock.date })
    )
    let delegate = TestDelegate()
    let configuration = try SyncEngine.Configuration(container: container, storePath: world.folder.path("app.sqlite"))
    let engine = try SyncEngine(configuration, delegate: delegate)
    try await engine.sync()

    let id = world.key("a").recordID
    for record in [delegate.state.withLock { $0.records["a"] }, try engine.record(id)] {
      let asset = try #require(record?["photo"] as? CKAsset)
      #expect(try Data(contentsOf: try await asset.download()) == Data("bytes".utf8))
    }
  }
}
