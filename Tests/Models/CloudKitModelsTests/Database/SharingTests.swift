import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import Testing

/// Models and zones that are shared.
@Suite(.serialized) struct SharingTests {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  private func title(_ share: CKShare) -> String? { share[CKShare.SystemFieldKey.title] as? String }

  @Test func `a model that is shared again has the same share`() async throws {
    try await database.save(Post())
    let share = try await database.share(Post(), title: "Groceries")
    #expect(share.url != nil && title(share) == "Groceries")

    let again = try await database.share(Post(), title: "Food")
    #expect(again.recordID == share.recordID && again.url == share.url && title(again) == "Groceries")
    #expect(try await database.load(Post.self, named: "post") == Post())
  }

  @Test func `a zone that is shared again has the same share`() async throws {
    let zone = database.zoneIDForModels
    #expect(await code { try await database.shareZone(zone) } == .zoneNotFound)
    try await database.save(Post())
    let share = try await database.shareZone(zone, title: "Groceries")
    let again = try await database.shareZone(zone, title: "Food")
    #expect(share.url != nil && again.url == share.url && title(again) == "Groceries")
  }

  @Test func `devices that share at the same time get one share`() async throws {
    let cloud = cloud
    try await database.save([Post(), Post(id: "other")])
    let urls = try await withThrowingTaskGroup(of: String?.self) { group in
      for number in 0..<8 {
        group.addTask {
          let database = cloud.container.privateCloudDatabase
          return try await database.share(Post(), title: "\(number)").url?.path()
        }
      }
      return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    #expect(urls.count == 1 && !urls.contains(nil))
  }

  @Test func `a model that is not saved cannot be shared, and nothing is created`() async throws {
    #expect(await code { try await database.share(Post()) } == .unknownItem)
    try await database.save(Post(id: "other"))
    #expect(await code { try await database.share(Post()) } == .unknownItem)
    #expect(try await database.all(Post.self).map(\.id) == ["other"])
  }

  @Test func `an error other than a missing share is thrown, and nothing is created`() async throws {
    try await database.save(Post())
    cloud.emulator.faults = FaultPlan(
      rules: [FaultRule(when: FaultCondition(operation: "records/lookup"), then: .authExpired)]
    )
    #expect(await code { try await database.shareZone(database.zoneIDForModels) } == .notAuthenticated)
    cloud.emulator.faults = FaultPlan()
    #expect(try await database.recordZone(for: database.zoneIDForModels).share == nil)
  }

  @Test func `a share that was deleted is replaced by a new one`() async throws {
    try await database.save(Post())
    let share = try await database.share(Post())
    try await database.deleteRecord(withID: share.recordID)
    let next = try await database.share(Post())
    #expect(next.recordID != share.recordID && next.url != nil)
  }
}
