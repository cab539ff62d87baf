import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import Foundation
import Synchronization
import Testing

/// Holds back the requests whose path ends like this until a number of them have arrived.
private final class Barrier: CKTransport {
  private let (base, end, count): (any CKTransport, String, Int)
  private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

  init(_ base: any CKTransport, _ end: String, count: Int) { (self.base, self.end, self.count) = (base, end, count) }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    if request.path.hasSuffix(end) {
      await withCheckedContinuation { continuation in
        let all = waiting.withLock { waiting -> [CheckedContinuation<Void, Never>] in
          waiting.append(continuation)
          return waiting.count == count ? waiting : []
        }
        for continuation in all { continuation.resume() }
      }
    }
    return try await base.send(request)
  }
}

/// Subscriptions to the changes of models.
@Suite(.serialized, .timeLimit(.minutes(40))) struct SubscribingTests {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  private func identifiers() async throws -> [String] { try await database.allSubscriptions().map(\.subscriptionID) }

  /// The subscriptions in the requests that saved any.
  private func saved() -> [[String: Any]] {
    cloud.requests.bodies("subscriptions/modify").flatMap { $0["operations"] as? [[String: Any]] ?? [] }
      .compactMap { $0["subscription"] as? [String: Any] }
  }

  @Test func `a model's subscription watches all changes and has its type as category`() async throws {
    let subscription = try await database.subscribe(to: Post.self)

    let expected: NSDictionary = [
      "subscriptionID": subscription.subscriptionID, "subscriptionType": "query", "zoneWide": true,
      "firesOn": ["create", "update", "delete"], "query": ["recordType": "Post", "filterBy": [Any]()] as [String: Any],
      "notificationInfo": [
        "category": "Post", "shouldSendContentAvailable": true, "shouldSendMutableContent": true,
      ] as [String: Any],
    ]
    #expect(saved().map { $0 as NSDictionary } == [expected])
  }

  @Test func `an awaited subscription is on the server, with its options and its push`() async throws {
    let query = Query<Post>().filter(\.title, equals: "Milk")
    let made = try await database.subscribe(where: query, options: .firesOnRecordCreation) { $0.alertBody = "Milk" }

    let known = try #require(try await database.subscription(for: made.subscriptionID) as? CKQuerySubscription)
    #expect(known.recordType == "Post" && known.querySubscriptionOptions == .firesOnRecordCreation)
    #expect(known.notificationInfo?.alertBody == "Milk" && known.notificationInfo?.category == "Post")
  }

  @Test func `the identifier of a subscription is the same in every process`() async throws {
    let query = Query<Post>().filter(\.title, equals: "Milk").filter(\.likes, .isGreater(than: 2))

    let id = try await database.subscribe(where: query, options: .firesOnRecordCreation).subscriptionID

    #expect(id == "Post-425a3d59530676b60103c834f339871c")
  }

  @Test func `a model that is registered twice has one subscription, whatever the order of its conditions`()
    async throws
  {
    let (milk, liked) = (QueryComparison.equals("Milk"), QueryComparison.isGreater(than: 2))
    let first = try await database.subscribe(where: Query<Post>().filter(\.title, milk).filter(\.likes, liked))
    let second = try await database.subscribe(where: Query<Post>().filter(\.likes, liked).filter(\.title, milk))

    #expect(first.subscriptionID == second.subscriptionID)
    #expect(try await identifiers() == [first.subscriptionID])
    #expect(saved().count == 1)
  }

  @Test func `processes that register at the same time create one subscription`() async throws {
    let transport = Barrier(cloud.requests, "subscriptions/modify", count: 8)
    let ids = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let process = cloud.container(of: "ana", over: transport)
          return try await process.privateCloudDatabase.subscribe(to: Post.self).subscriptionID
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }

    #expect(ids.count == 1 && saved().count == 8)
    #expect(try await identifiers() == Array(ids))
  }

  @Test func `other options and other zones are other subscriptions`() async throws {
    try await database.save(Post())
    let all = try await database.subscribe(to: Post.self)
    let deletions = try await database.subscribe(to: Post.self, options: .firesOnRecordDeletion)
    let page = try await database.subscribe(to: Page.self)
    #expect(
      try await identifiers().sorted() == [all, deletions, page].map(\.subscriptionID).sorted()
    )

    try await database.unsubscribe(from: Post.self)
    let zone = try await database.subscribe(to: Post.self, in: database.zoneIDForModels)
    #expect(zone.subscriptionID != all.subscriptionID && zone.zoneID == database.zoneIDForModels)
    // The server's name of the user in the zone's ID is no difference.
    try await database.subscribe(to: Post.self, in: database.zoneIDForModels)
    #expect(saved().count { $0["zoneID"] != nil } == 1)
  }

  @Test func `a subscription with another push is replaced`() async throws {
    try await database.subscribe(to: Post.self)
    let changed = try await database.subscribe(to: Post.self) { $0.alertBody = "A post has changed." }

    let all = try await database.allSubscriptions()
    #expect(all.map(\.subscriptionID) == [changed.subscriptionID])
    #expect(all.first?.notificationInfo?.alertBody == "A post has changed.")
    #expect(all.first?.notificationInfo?.category == "Post")
  }

  @Test func `a subscription that another program made for the same changes is used`() async throws {
    let known = try await database.subscribe(to: Post.self)
    try await database.unsubscribe(from: Post.self)
    let other = CKQuerySubscription(
      recordType: "Post",
      predicate: NSPredicate(value: true),
      subscriptionID: "other",
      options: .allChanges
    )
    other.notificationInfo = known.notificationInfo
    try await database.save(other)

    #expect(try await database.subscribe(to: Post.self).subscriptionID == "other")
    #expect(try await identifiers() == ["other"])
  }

  @Test func `a second subscription for one type and set of options is refused with the name of the first`()
    async throws
  {
    let first = try await database.subscribe(to: Post.self)
    let error = await #expect(throws: CKError.self) {
      try await database.subscribe(where: Query<Post>().filter(\.title, equals: "Milk"))
    }
    #expect(error?.code == .serverRejectedRequest)
    #expect(error?.localizedDescription.contains(first.subscriptionID) == true)
    #expect(try await identifiers() == [first.subscriptionID])
  }

  @Test func `a subscription whose reply was lost is found`() async throws {
    let condition = FaultCondition(operation: "subscriptions/modify", limit: 1)
    cloud.emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .dropAfterCommit)])

    let subscription = try await database.subscribe(to: Post.self)

    #expect(saved().count == 1)
    #expect(try await identifiers() == [subscription.subscriptionID])
  }

  @Test func `a query with an order or a limit is refused before anything is sent`() async throws {
    for query in [Query<Post>().sorted(by: \.likes), Query<Post>().limit(2)] {
      #expect(await code { try await database.subscribe(where: query) } == .invalidArguments)
      #expect(await code { try await database.unsubscribe(where: query) } == .invalidArguments)
    }
    #expect(cloud.requests.bodies("").isEmpty)
  }

  @Test func `a subscription that is ended is gone, and ending it again changes nothing`() async throws {
    let query = Query<Post>().filter(\.title, equals: "Milk")
    try await database.subscribe(where: query)
    for _ in 0..<2 { try await database.unsubscribe(where: query) }
    #expect(try await identifiers().isEmpty)
  }

  @Test func `a subscription is made and ended with completion handlers`() async throws {
    let database = database
    let made = await withCheckedContinuation { continuation in
      database.subscribe(to: Post.self) { continuation.resume(returning: $0) }
    }
    #expect(try await identifiers() == [try made.get().subscriptionID])
    let ended = await withCheckedContinuation { continuation in
      database.unsubscribe(from: Post.self) { continuation.resume(returning: $0) }
    }
    try ended.get()
    #expect(try await identifiers().isEmpty)
  }
}
