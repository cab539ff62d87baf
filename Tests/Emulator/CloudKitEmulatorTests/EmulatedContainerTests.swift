import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Testing

/// Containers on an emulator in the same process.
struct EmulatedContainerTests {
  @Test func `containers on one emulator share public records, and each user has private ones`() async throws {
    let emulator = try Emulator()
    let ana = CKContainer.emulated(user: "ana", on: emulator)
    let ben = CKContainer.emulated(user: "ben", on: emulator)
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
    try await ana.publicCloudDatabase.save(record)
    try await ana.privateCloudDatabase.save(CKRecord(recordType: "Note", recordID: record.recordID))

    #expect(try await ben.publicCloudDatabase.record(for: record.recordID).recordType == "Note")
    let error = await #expect(throws: CKError.self) { try await ben.privateCloudDatabase.record(for: record.recordID) }
    #expect(error?.code == .unknownItem)
    let again = CKContainer.emulated(user: "ana", on: emulator)
    #expect(try await again.userRecordID() == ana.userRecordID())
    #expect(try await ben.userRecordID() != ana.userRecordID())
  }

  @Test func `a container of its own starts empty, and its server has the time of the system`() async throws {
    let database = try CKContainer.emulated(user: "ana").privateCloudDatabase
    let before = Date()
    let saved = try await database.save(CKRecord(recordType: "Note"))
    // The protocol rounds times to milliseconds.
    let made = try #require(saved.creationDate)
    #expect(made >= before.addingTimeInterval(-0.001) && made <= Date().addingTimeInterval(0.001))

    let other = try CKContainer.emulated(user: "ana").privateCloudDatabase
    await #expect(throws: CKError.self) { try await other.record(for: saved.recordID) }
  }
}
