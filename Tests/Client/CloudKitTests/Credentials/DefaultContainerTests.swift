import CloudKit
import Testing

/// The container that a program uses by default. Nothing else in these tests does.
@Suite(.serialized) struct DefaultContainerTests {
  @Test func `the container that a program sets is its default, until it sets another`() async throws {
    let previous = CKContainer.default()
    defer { CKContainer.setDefault(previous) }
    for name in ["iCloud.one", "iCloud.two"] {
      let server = ScriptedServer(.json(#"{"records":[{"recordName":"n","recordType":"Note","fields":{}}]}"#))
      let configuration = CKContainerConfiguration(
        identifier: name,
        credential: .apiToken("token"),
        transport: server
      )
      CKContainer.setDefault(CKContainer(configuration: configuration))

      #expect(CKContainer.default().containerIdentifier == name)
      let database = CKContainer.default().publicCloudDatabase
      #expect(database.databaseScope == .public)
      _ = try await database.record(for: CKRecord.ID(recordName: "n"))
      #expect(server.urls.map { $0.hasPrefix("/database/1/\(name)/development/public/records/lookup") } == [true])
    }
  }
}
