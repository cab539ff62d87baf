import CloudKit
import CloudKitEmulator
import CloudSupport
import CombineShim
import Foundation
import Synchronization
import Testing

@testable import CloudKitModels

/// Observers of models, over the pushes of the emulator.
@Suite(.serialized, .timeLimit(.minutes(40))) struct ObservingTests {
  private let cloud: Cloud
  private let database: CKDatabase

  init() throws {
    cloud = try Cloud()
    database = cloud.container.privateCloudDatabase
  }

  /// Waits until this number of polls for pushes wait, so that all earlier pushes have been received.
  private func polls(_ count: Int) async {
    while cloud.emulator.waitingPolls != count, !Task.isCancelled { await Task.yield() }
  }

  /// The values that a closure receives.
  private struct Received<Value: Sendable> {
    private let values: AsyncStream<Value>
    let receive: @Sendable (Value) -> Void

    init() {
      let (values, continuation) = AsyncStream<Value>.makeStream()
      self.values = values
      receive = { continuation.yield($0) }
    }

    func next() async -> Value? {
      var iterator = values.makeAsyncIterator()
      return await iterator.next()
    }
  }

  private typealias Changes = Received<Result<CKModelChange<Post>, any Error>>

  @Test func `what another device saves and deletes is reported as models`() async throws {
    let (changes, database) = (Post.changes(in: cloud.container), database)
    let first = Task {
      await polls(1)
      try await database.save(Post())
    }
    var iterator = changes.makeAsyncIterator()
    #expect(try await iterator.next() == .inserted(Post()))
    try await first.value

    try await database.save(Post(title: "Oats"))
    #expect(try await iterator.next() == .updated(Post(title: "Oats")))
    try await database.delete(Post())
    #expect(try await iterator.next() == .deleted(CKRecord.ID(recordName: "post", zoneID: database.zoneIDForModels)))
  }

  @Test func `an observer with a closure misses nothing that happens after it is registered`() async throws {
    let changes = Changes()
    let observation = try await Post.observe(in: cloud.container, changes.receive)
    #expect(try await database.allSubscriptions().count == 1)

    try await database.save(Post())

    #expect(try await changes.next()?.get() == .inserted(Post()))
    _ = observation
  }

  @Test func `an observer is registered with a completion handler`() async throws {
    let changes = Changes()
    let receive = changes.receive
    let observation = try await withCheckedContinuation { continuation in
      Post.observe(in: cloud.container, receive) { continuation.resume(returning: $0) }
    }.get()
    try await database.save(Post())

    #expect(try await changes.next()?.get() == .inserted(Post()))
    _ = observation
  }

  /// An object that observes models, as an app has it.
  private final class PostList: Sendable {
    private let observation = Mutex<CKModelObservation?>(nil)
    private let received: @Sendable (Result<CKModelChange<Post>, any Error>) -> Void
    private let released: @Sendable () -> Void

    init(
      _ received: @escaping @Sendable (Result<CKModelChange<Post>, any Error>) -> Void,
      released: @escaping @Sendable () -> Void
    ) { (self.received, self.released) = (received, released) }

    deinit { released() }

    func observe(_ container: CKContainer) async throws {
      let observation = try await Post.observe(in: container) { [weak self] in self?.received($0) }
      self.observation.withLock { $0 = observation }
    }
  }

  @Test func `each observer receives a change once, and ends with the object that holds it`() async throws {
    let container = cloud.container
    let (first, second) = (Changes(), Changes())
    let releases = Received<Void>()
    let release = releases.receive
    var list: PostList? = PostList(first.receive) { release(()) }
    try await list?.observe(container)
    let observation = try await Post.observe(in: container, second.receive)
    await polls(1)

    try await database.save(Post())
    try await database.save(Post(id: "other"))
    for title in ["post", "other"] {
      #expect(try await first.next()?.get() == .inserted(Post(id: title)))
      #expect(try await second.next()?.get() == .inserted(Post(id: title)))
    }

    list = nil
    await releases.next()
    try await database.save(Post(id: "third"))
    #expect(try await second.next()?.get() == .inserted(Post(id: "third")))
    // The poll ends with the last observer.
    observation.cancel()
    await polls(0)
    #expect(try await database.allSubscriptions().count == 1)
  }

  @Test func `a loop ends with its task, and then nothing polls`() async throws {
    let changes = Post.changes(in: cloud.container)
    let loop = Task { for try await _ in changes {} }
    await polls(1)

    loop.cancel()

    try await loop.value
    await polls(0)
  }

  @Test func `a poll that ended begins again with the next observer`() async throws {
    let container = cloud.container
    for id in ["a", "b"] {
      let changes = Changes()
      let observation = try await Post.observe(in: container, changes.receive)
      try await database.save(Post(id: id))
      #expect(try await changes.next()?.get() == .inserted(Post(id: id)))
      observation.cancel()
      await polls(0)
    }
  }

  @Test func `only models that match the conditions are reported`() async throws {
    let changes = Changes()
    let query = Query<Post>().filter(\.title, equals: "Milk")
    let observation = try await Post.observe(in: cloud.container, where: query, changes.receive)
    try await database.save([Post(id: "a", title: "Oats"), Post(id: "b")])
    #expect(try await changes.next()?.get() == .inserted(Post(id: "b")))
    _ = observation
  }

  @Test func `a record that does not match the model is reported with the reason`() async throws {
    let changes = Changes()
    let observation = try await Post.observe(in: cloud.container, changes.receive)
    try await database.save(Post())
    #expect(try await changes.next()?.get() == .inserted(Post()))

    let id = CKRecord.ID(recordName: "post", zoneID: database.zoneIDForModels)
    let record = try await database.record(for: id)
    record["title"] = nil
    try await database.save(record)

    guard case .failed(let failed, let error as CKModelError) = try await changes.next()?.get() else {
      Issue.record("The record that does not match was not reported.")
      return
    }
    #expect(failed == id && error.field == "title" && error.recordID == id)
    _ = observation
  }

  @Test func `pushes that come together are fetched in one request, each record once`() async throws {
    let (container, database) = (cloud.container, database)
    var iterator = Post.changes(in: container).makeAsyncIterator()
    let first = Task {
      await polls(1)
      try await database.save(Post())
    }
    #expect(try await iterator.next() == .inserted(Post()))
    try await first.value
    await polls(1)
    let posts = (0..<60).map { Post(id: "\($0)") }
    try await database.save(posts)
    await polls(1)
    try await database.save(Post(id: "3", title: "Oats"))
    try await database.delete(Post(id: "5"))
    await polls(1)
    let before = cloud.requests.bodies("records/lookup").count

    var received: [CKModelChange<Post>] = []
    while received.count < posts.count, let change = try await iterator.next() { received.append(change) }
    let expected = posts.map { post -> CKModelChange<Post> in
      switch post.id {
      case "3": .inserted(Post(id: "3", title: "Oats"))
      case "5": .deleted(CKRecord.ID(recordName: "5", zoneID: database.zoneIDForModels))
      default: .inserted(post)
      }
    }
    #expect(received == expected)
    #expect(cloud.requests.bodies("records/lookup").count == before + 1)
  }

  @Test func `a change whose record cannot be fetched yet is reported later`() async throws {
    let condition = FaultCondition(operation: "records/lookup", limit: 2)
    cloud.emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .throttled(retryAfter: 5))])
    var changes = Post.changes(in: cloud.container)
    let pauses = Mutex<[Duration]>([])
    changes.pause = { pause in pauses.withLock { $0.append(pause) } }
    let database = database
    let saving = Task {
      await polls(1)
      try await database.save(Post())
    }

    var iterator = changes.makeAsyncIterator()
    #expect(try await iterator.next() == .inserted(Post()))
    #expect(pauses.withLock { $0 } == [.seconds(5), .seconds(5)])
    try await saving.value
  }

  @Test func `after the connection was lost, an observer says that changes may be missing`() async throws {
    let (changes, pauses) = immediate(Post.changes(in: cloud.container))
    var iterator = changes.makeAsyncIterator()
    try await loseConnection(&iterator)
    try await database.save(Post(id: "b"))

    var received: [CKModelChange<Post>] = []
    while received.count < 2, let change = try await iterator.next() { received.append(change) }
    #expect(received.contains(.inserted(Post(id: "b"))))
    let failure = received.compactMap { change in if case .failed(nil, let error) = change { error } else { nil } }
    #expect(failure.map { ($0 as? CKError)?.code } == [.serverResponseLost])
    #expect(pauses.values == [.seconds(1)])
  }

  /// The pauses of a sequence, none of which takes any time.
  private final class Pauses: Sendable {
    private let durations = Mutex<[Duration]>([])
    var values: [Duration] { durations.withLock { $0 } }

    func add(_ duration: Duration) { durations.withLock { $0.append(duration) } }
  }

  private func immediate(_ changes: CKModelChangeSequence<Post>) -> (CKModelChangeSequence<Post>, Pauses) {
    var changes = changes
    let pauses = Pauses()
    changes.pause = { pauses.add($0) }
    return (changes, pauses)
  }

  private func fail(_ operations: String..., by fault: FaultAction) {
    cloud.emulator.faults = FaultPlan(
      rules: operations.map { FaultRule(when: FaultCondition(operation: $0, limit: 1), then: fault) }
    )
  }

  /// Receives a post, and then lets a poll fail.
  private func loseConnection(_ iterator: inout CKModelChangeSequence<Post>.AsyncIterator) async throws {
    let database = database
    let saving = Task {
      await polls(1)
      fail("poll", by: .badGateway())
      try await database.save(Post(id: "a"))
    }
    #expect(try await iterator.next() == .inserted(Post(id: "a")))
    try await saving.value
    await polls(1)
  }

  @Test func `after the connection was lost, the cache serves no old version`() async throws {
    let container = cloud.container(of: "ana") { $0.cache = .fast }
    try await database.save(Page(title: "Old"))
    let (changes, _) = immediate(Post.changes(in: container))
    var iterator = changes.makeAsyncIterator()
    try await loseConnection(&iterator)
    let id = CKRecord.ID(recordName: Page(title: "").id, zoneID: database.zoneIDForModels)
    #expect(try await container.privateCloudDatabase.record(for: id)["title"] as? String == "Old")
    try await database.save(Page(title: "New"))

    try await database.save(Post(id: "b"))
    _ = try await iterator.next()

    #expect(try await container.privateCloudDatabase.record(for: id)["title"] as? String == "New")
  }

  @Test func `an observer leaves a subscription of another program as it is`() async throws {
    for id in [nil, "own"] {
      if let id {
        let own = CKQuerySubscription(
          recordType: Post.recordType,
          predicate: NSPredicate(value: true),
          subscriptionID: id,
          options: .allChanges
        )
        own.notificationInfo = CKSubscription.NotificationInfo(alertBody: "A post has changed.")
        try await database.save(own)
      } else {
        try await database.subscribe(to: Post.self) { $0.alertBody = "A post has changed." }
      }
      let changes = Changes()
      let observation = try await Post.observe(in: cloud.container, changes.receive)
      let post = Post(id: id ?? "a")
      try await database.save(post)

      #expect(try await changes.next()?.get() == .inserted(post))
      let all = try await database.allSubscriptions()
      #expect(all.map { $0.notificationInfo?.alertBody } == ["A post has changed."])
      try await database.deleteSubscription(withID: try #require(all.first?.subscriptionID))
      _ = observation
    }
  }

  @Test func `an observer whose task is cancelled while it begins is an error`() async {
    let inbox = ChangeInbox("s")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await inbox.opened()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `an iteration that cannot begin yet tries again`() async throws {
    fail("subscriptions/lookup", "subscriptions/modify", "tokens/create", by: .throttled(retryAfter: 5))
    let (changes, pauses) = immediate(Post.changes(in: cloud.container))
    let database = database
    let saving = Task {
      await polls(1)
      try await database.save(Post())
    }

    var iterator = changes.makeAsyncIterator()
    #expect(try await iterator.next() == .inserted(Post()))
    try await saving.value
    #expect(pauses.values == [.seconds(5), .seconds(5), .seconds(5)])
  }

  @Test func `an error that waiting does not fix ends the observer and its poll`() async throws {
    let changes = Changes()
    let observation = try await Post.observe(in: cloud.container, changes.receive)
    let condition = FaultCondition(operation: "records/lookup")
    cloud.emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .authExpired)])
    try await database.save(Post())

    let end = await changes.next()
    #expect(await code { try end?.get() } == .notAuthenticated)
    await polls(0)
    _ = observation
  }

  @Test func `changes in a zone of another user are reported, although their pushes name no record`() async throws {
    let guest = cloud.container(of: "ben")
    try await database.save([Post(), Post(id: "b")])
    try await database.save(Page())
    let share = try await database.shareZone(database.zoneIDForModels)
    share.publicPermission = .readWrite
    try await database.save(share)
    try await guest.accept(try await guest.shareMetadata(for: try #require(share.url)))
    let zoneID = try #require(try await guest.sharedCloudDatabase.allRecordZones().first?.zoneID)
    try await observeShared(guest, zoneID)
    for operation in ["changes/database", "changes/zone"] {
      await polls(0)
      try await loseToken(operation, guest, zoneID)
    }

    let query = Query<Post>().filter(\.title, equals: "Milk")
    #expect(await code { try await Post.observe(in: guest, where: query, zone: zoneID) { _ in } } == .invalidArguments)
  }

  @Test func `a change feed that stands still is an error, and the place in it stays`() async throws {
    let database = database
    try await database.save(Post())
    var feed = RecordFeed(Post.recordType, in: nil)
    for operation in ["changes/database", "changes/zone"] {
      cloud.emulator.faults = FaultPlan(
        rules: [FaultRule(when: FaultCondition(operation: operation), then: .stalledMarker)]
      )
      #expect(await code { try await feed.read(database, desiredKeys: nil) } == .internalError)
    }
    cloud.emulator.faults = FaultPlan()

    #expect(try await feed.read(database, desiredKeys: nil).map(\.change) == [.inserted])
  }

  /// An expired change token is reported, and the observer goes on.
  private func loseToken(_ operation: String, _ guest: CKContainer, _ zoneID: CKRecordZone.ID) async throws {
    let (changes, name) = (Changes(), operation.suffix(4))
    let observation = try await Post.observe(in: guest, zone: zoneID, changes.receive)
    try await database.save(Post(id: "\(name)-1"))
    #expect(try await changes.next()?.get() == .inserted(Post(id: "\(name)-1")))

    fail(operation, by: .expiredToken)
    try await database.save(Post(id: "\(name)-2"))
    guard case .failed(nil, let error as CKError) = try await changes.next()?.get() else {
      Issue.record("The expired token was not reported.")
      return
    }
    #expect(error.code == .changeTokenExpired)
    try await database.save(Post(id: "\(name)-3"))
    #expect(try await changes.next()?.get() == .inserted(Post(id: "\(name)-3")))
    _ = observation
  }

  private func observeShared(_ guest: CKContainer, _ zoneID: CKRecordZone.ID) async throws {
    let own = CKDatabaseSubscription(subscriptionID: CKDatabaseSubscription.allChangesID)
    own.notificationInfo = CKSubscription.NotificationInfo(alertBody: "A post has changed.")
    try await guest.sharedCloudDatabase.save(own)
    let changes = Changes()
    let observation = try await Post.observe(in: guest, zone: zoneID, changes.receive)

    try await database.save(Page(title: "Oats"))
    try await database.save(Post(id: "c"))
    #expect(try await changes.next()?.get() == .inserted(Post(id: "c")))
    try await database.save(Post(title: "Oats"))
    #expect(try await changes.next()?.get() == .updated(Post(title: "Oats")))
    try await database.delete(Post(id: "b"))
    #expect(try await changes.next()?.get() == .deleted(CKRecord.ID(recordName: "b", zoneID: zoneID)))
    // Another program's push is left as it is.
    let all = try await guest.sharedCloudDatabase.allSubscriptions()
    #expect(all.map { $0.notificationInfo?.alertBody } == ["A post has changed."])
    _ = observation
  }

  @Test func `changes and pushes arrive through publishers until they are cancelled`() async throws {
    let container = cloud.container
    try await database.subscribe(to: Post.self)
    let (pushes, changes) = (Received<CKNotification>(), Received<CKModelChange<Post>>())
    let (receivePush, receiveChange) = (pushes.receive, changes.receive)
    let ofPushes = container.notifications.publisher.sink(receiveCompletion: { _ in }, receiveValue: receivePush)
    let ofChanges = Post.changes(in: container).publisher.sink(
      receiveCompletion: { _ in },
      receiveValue: receiveChange
    )
    await polls(2)

    try await database.save(Post())

    #expect((await pushes.next() as? CKQueryNotification)?.recordID?.recordName == "post")
    #expect(await changes.next() == .inserted(Post()))
    ofPushes.cancel()
    await polls(1)
    ofChanges.cancel()
    await polls(0)
  }

  @Test func `a publisher sends as much as was asked for, and then the error that ended it`() async throws {
    let condition = FaultCondition(operation: "subscriptions/lookup")
    cloud.emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .authExpired)])
    let ends = Received<Subscribers.Completion<any Error>>()
    let receiveEnd = ends.receive
    let failing = Post.changes(in: cloud.container).publisher.sink(
      receiveCompletion: receiveEnd,
      receiveValue: { _ in }
    )
    guard case .failure(let error as CKError) = await ends.next() else {
      Issue.record("The error did not end the publisher.")
      return
    }
    #expect(error.code == .notAuthenticated)
    _ = failing

    cloud.emulator.faults = FaultPlan()
    let changes = Received<CKModelChange<Post>>()
    let receiveChange = changes.receive
    let once = Post.changes(in: cloud.container).publisher.prefix(1)
      .sink(receiveCompletion: receiveEnd, receiveValue: receiveChange)
    await polls(1)
    try await database.save([Post(), Post(id: "other")])
    #expect(await changes.next() == .inserted(Post()))
    guard case .finished = await ends.next() else {
      Issue.record("The publisher did not finish.")
      return
    }
    await polls(0)
    _ = once
  }
}

/// The meaning of pushes for an observer.
@Suite struct PushedChangesTests {
  private static func push(_ kind: String, _ content: String) throws -> CKNotification {
    let json = Data(#"{"ck":{"\#(kind)":{\#(content)}}}"#.utf8)
    let push = try #require(try JSONSerialization.jsonObject(with: json) as? [AnyHashable: Any])
    return try #require(CKNotification(fromRemoteNotificationDictionary: push))
  }

  private static func record(_ reason: Int, of subscription: String = "s") -> (String, String) {
    ("qry", #""sid":"\#(subscription)","rid":"a","zid":"notes","dbs":2,"fo":\#(reason)"#)
  }

  private static let cases: [([(String, String)], PushedChanges.Change?, hasUnnamed: Bool)] = [
    ([record(1)], .inserted, false),
    ([record(2)], .updated, false),
    ([record(3)], .deleted, false),
    ([record(1), record(2)], .inserted, false),
    ([record(2), record(1)], .inserted, false),
    ([record(2), record(2)], .updated, false),
    ([record(1), record(3)], .deleted, false),
    ([record(3), record(1)], .inserted, false),
    ([record(3), record(2)], .updated, false),
    ([record(1, of: "other")], nil, false),
    ([("qry", #""sid":"s","zid":"notes","fo":1"#)], nil, true),
    ([("qry", #""rid":"a","zid":"notes","fo":1"#)], nil, true),
    ([("fet", #""sid":"s","zid":"notes""#)], nil, true),
    ([("met", #""sid":"s""#)], nil, true),
    ([("met", #""sid":"other""#)], nil, false),
    ([record(2), ("met", #""sid":"s""#)], .updated, true),
  ]

  @Test(arguments: cases.indices)
  func `pushes for one record become one change`(index: Int) throws {
    let (pushes, change, hasUnnamed) = Self.cases[index]
    var changes = PushedChanges()
    for (kind, content) in pushes { changes.add(try Self.push(kind, content), of: "s") }

    let id = CKRecord.ID(recordName: "a", zoneID: CKRecordZone.ID(zoneName: "notes"))
    #expect(changes.hasUnnamed == hasUnnamed && changes.isEmpty == (change == nil && !hasUnnamed))
    let taken = changes.take(200)
    #expect(taken.map(\.id) == (change == nil ? [] : [id]) && taken.map(\.change) == [change].compactMap(\.self))
    #expect(changes.take(200).isEmpty)
  }

  @Test func `a deletion that is pushed twice is reported once, until the record is created again`() {
    let record = CKRecord(wire: WireRecord(recordName: "a", recordType: "Post", recordChangeTag: "1"), zoneID: .default)
    var versions = DeliveredVersions()
    func report(_ change: PushedChanges.Change) -> Bool {
      let change: CKModelChange<Post>? = versions.change(record.recordID, change, .success(record))
      return change != nil
    }
    let changes: [PushedChanges.Change] = [.inserted, .updated, .deleted, .deleted, .inserted, .deleted]
    #expect(changes.map(report) == [true, false, true, false, true, true])
  }
}
