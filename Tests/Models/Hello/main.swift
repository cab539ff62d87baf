import CloudKitModels

struct Note: Codable, Identifiable, CKRecordModel {
  var id = UUID()
  var title: String
}

let database = CKContainer.default().database(for: Note.self)
try await database.save(Note(title: "Hello"))
for note in try await database.all(Note.self) { print(note.title) }
