import CloudKit
import CloudKitEmulator
import Testing

@testable import CloudSync

/// Saving and deleting the framework's records through an engine.
@Suite(.serialized, .eachStorage) struct RecordSavingTests {
  @Test(arguments: [false, true], [false, true])
  func `a record that is deleted and then saved is there again as a whole`(isSent: Bool, isEdited: Bool) async throws {
    let world = try World()
    let device = try world.device("mine")
    try device.store.accept(world.put("a", ["title": .string("t"), "body": .string("b")]))
    try await device.sync()
    let wire = WireRecord(recordName: "a", recordType: "Note")
    let known = try #require(try device.store.records(named: "a").first?.record)
    var read = wire
    read.recordChangeTag = known.changeTag
    read.take(known.fields)
    let record = CKRecord(wire: read, zoneID: world.key("a").recordID.zoneID)

    try device.engine.delete([record.recordID])
    if isSent { try await device.sync() }
    if isEdited { record["title"] = "new" }
    try device.engine.save([record])
    try await device.sync()

    #expect(world.onServer("a") == ["title": .string(isEdited ? "new" : "t"), "body": .string("b")])
    #expect(try device.store.queue() == [])
  }
}
