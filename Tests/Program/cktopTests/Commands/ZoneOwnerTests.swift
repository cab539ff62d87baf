import CloudKit
import CloudService
import Foundation
import TestSupport
import Testing

@testable import CloudSync
@testable import cktop

/// Zones of one name that several users share.
@Suite(.serialized) struct ZoneOwnerTests {
  private static let zones = ["_ana", "_ben"].map { ZoneKey(zone: "lists", owner: $0) }
  private let machine: Machine
  private let path: String

  init() throws {
    let folder = try Machine()
    path = folder.folder.path("shared.sqlite")
    machine = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_DATABASE": "shared", "CKTOP_STORE": path,
    ])
    kept = folder
    let scope = SyncStore.Scope(container: Machine.container, environment: "development", database: .shared)
    let store = try SyncStore(path: path, scope: scope)
    try store.write { ledger in
      for zone in Self.zones + [ZoneKey(zone: "notes", owner: "_ana")] {
        try ledger.insertZone(zone, state: .ready)
        for name in ["item", "of\(zone.owner)"] {
          try ledger.put(MirrorRecord(key: RecordKey(zone, name), type: "Item", changeTag: "1", fields: [:]), epoch: 0)
        }
      }
    }
  }

  /// Its folder goes with it.
  private let kept: Machine

  @Test func `a zone that several users share is named with its owner`() async throws {
    let put = ["records", "put", "--type", "Item", "--name", "new", "--zone", "lists", "text=x"]
    let refusal = try await machine.running(put)
    #expect(refusal.status == 2 && refusal.error.contains("_ana") && refusal.error.contains("--owner"))

    let accepted = try await machine.running(put + ["--owner", "_ben", "--json"])
    #expect(accepted.status == 0, "\(accepted.error)")
    #expect(try accepted.object()["owner"] as? String == "_ben")
    #expect(try await machine.succeed("queue", "list", "--json").objects().map { $0["owner"] as? String } == ["_ben"])
    #expect(try await machine.succeed("queue", "list").output.contains("lists of _ben"))

    let found = try await machine.succeed("records", "list", "--zone", "lists", "--owner", "_ana", "--json").objects()
    #expect(found.map { $0["owner"] as? String } == ["_ana", "_ana"])
    #expect(found.map { $0["recordName"] as? String } == ["item", "of_ana"])
    #expect(try await machine.fail(2, "records", "get", "item", "--zone", "lists").contains("--owner"))
    let item = try await machine.succeed("records", "get", "item", "--zone", "lists", "--owner", "_ana", "--json")
    #expect(try item.object()["owner"] as? String == "_ana")
    try await machine.succeed("records", "delete", "item", "--zone", "lists", "--owner", "_ana", "--yes")
    try await machine.succeed("records", "query", "Item", "--zone", "lists", "--owner", "_ben")
    #expect(try await machine.succeed("records", "export", "--zone", "lists", "--owner", "_ben").objects().count == 3)
    try await machine.succeed("zones", "pause", "lists", "--owner", "_ben")
    #expect(
      try await machine.succeed("zones", "list", "--json").objects().filter { $0["paused"] as? Bool == true }
        .map { $0["owner"] as? String } == ["_ben"]
    )
    let ofBen = try await machine.succeed("queue", "list", "--where", "owner = '_ben'", "--json").objects()
    #expect(ofBen.map { $0["owner"] as? String } == ["_ben"])
    #expect((ofBen.first?["reason"] as? String)?.contains("zone lists of _ben") == true)
    for verb in [["queue", "pauses"], ["events"], ["queue", "show", "1"]] {
      #expect(try await machine.succeeding(verb).output.contains("zone lists of _ben"))
    }
    try await machine.fail(2, "zones", "resume", "lists")
    try await machine.succeed("zones", "resume", "lists", "--owner", "_ben")
    try await machine.succeed("zones", "repair", "lists", "--owner", "_ana")
  }

  @Test func `lists name the owner only where several users have a zone of that name`() async throws {
    let lines = try await machine.succeed("records", "list").lines

    #expect(lines.count { $0.contains("lists of _ana") } == 2 && lines.count { $0.contains("lists of _ben") } == 2)
    #expect(lines.count { $0.contains("notes") } == 2 && !lines.contains { $0.contains("notes of") })
    let refusal = try await machine.fail(2, "records", "get", "item")
    #expect(refusal.contains("lists of _ana, lists of _ben, notes") && refusal.contains("--zone and --owner"))
  }

  @Test func `an owner is that of a known zone, in the shared database`() async throws {
    try await machine.fail(2, "records", "list", "--owner", "_ana")
    try await machine.fail(2, "records", "list", "--zone", "lists", "--owner", "_cleo")
    let other = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_DATABASE": "private", "CKTOP_STORE": "own.sqlite",
    ])
    try await other.fail(2, "records", "put", "--type", "Item", "--zone", "a", "--owner", "_ana", "x=1")
  }

  @Test func `a record without a zone is refused in the shared database, and so is an import`() async throws {
    #expect(try await machine.fail(2, "records", "put", "--type", "Item", "text=x").contains("--zone"))
    let file = try machine.folder.write(#"{"text": "x"}"#, to: "items.ndjson")
    #expect(try await machine.fail(2, "records", "import", file, "--type", "Item").contains("--zone"))
    try await machine.succeed("records", "import", file, "--type", "Item", "--zone", "lists", "--owner", "_ana")
    #expect(try await machine.succeed("queue", "list", "--json").objects().map { $0["owner"] as? String } == ["_ana"])
  }

  @Test(arguments: [
    (["--zone", ""], ["lists", "notes"], ["_ana", "_ben"]),
    (["--zone", "lists"], ["lists", "notes"], ["_ana", "_ben"]),
    (["--zone=notes", "--owner"], ["lists", "notes"], ["_ana"]), (["notes"], ["lists", "notes"], ["_ana"]),
  ])
  func `the shell completes zones and owners from the store that the line names`(
    _ words: [String],
    _ zones: [String],
    _ owners: [String]
  ) {
    let line =
      ["cktop", "records", "get", "--container", Machine.container, "--database=shared", "--store", path] + words

    #expect(StoreCompletion(line).zones == zones)
    #expect(StoreCompletion(line).owners == owners)
    #expect(StoreCompletion(["cktop", "--store", path + ".gone"]).zones == [])
  }

  @Test func `a command about zones of another user names the owner`() throws {
    let (ana, ben) = (Self.zones[0], Self.zones[1])

    #expect(ServiceCommand.pause([.zone(ana)]).commandLine == "cktop zones pause lists --owner _ana")
    #expect(
      ServiceCommand.fetchAgain([ana, ZoneKey(zone: "b", owner: "_ana")]).commandLine
        == "cktop zones repair lists b --owner _ana"
    )
    #expect(ServiceCommand.resume([.zone(ana), .zone(ben)]).commandLine == nil)
    #expect(PauseRule.zone(ben).resumeCommand == "cktop zones resume lists --owner _ben")
  }
}
