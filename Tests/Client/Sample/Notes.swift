import CloudKit

/// Keeps notes, given as arguments, and lists all there are. The same file for Apple's framework and for Linux.
@main struct Notes {
  static func main() async throws {
    let database = CKContainer.default().privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "notes")).zoneID
    for text in CommandLine.arguments.dropFirst() {
      let id = CKRecord.ID(recordName: UUID().uuidString, zoneID: zone)
      let note = CKRecord(recordType: "Note", recordID: id)
      note["text"] = text
      try await database.save(note)
    }
    let everything = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    everything.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: true)]
    let (matches, _) = try await database.records(matching: everything, inZoneWith: zone)
    for (_, note) in matches { print(try note.get()["text"] as? String ?? "") }
  }
}
