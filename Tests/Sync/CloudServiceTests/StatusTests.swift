import CloudKit
import CloudKitEmulator
import CloudSupport
import Facts
import Foundation
import OpenCombine
import Synchronization
import Testing

@testable import CloudService
@testable import CloudSync

/// The status as a value, from what the store knows.
@Suite struct StatusValueTests {
  private typealias Status = CloudKitService.Status

  /// A store whose last full sync ended at 1,000.
  private func store(_ change: (inout StoreStatus) -> Void = { _ in }) -> StoreStatus {
    var store = StoreStatus(generatedAt: 5_000)
    (store.lastSuccessAt, store.reachedEnd, store.identity) = (1_000, true, "_ana")
    change(&store)
    return store
  }

  private func wait(_ scope: WaitScope, _ code: String = "THROTTLED", isOwn: Bool = true) -> ScopeWait {
    ScopeWait(scope: scope, until: 9_000, code: code, message: "reason", isOwn: isOwn, since: 0)
  }

  private func failure(_ code: String, at time: Int64 = 3_000) -> StoreStatus.Failure {
    StoreStatus.Failure(code: code, message: "reason", at: time)
  }

  @Test func `the queue is counted by state, with its oldest change`() {
    let status = Status(
      store {
        $0.queue.total = 21
        ($0.queue.pending, $0.queue.inFlight, $0.queue.waiting) = (6, 5, 4)
        ($0.queue.failed, $0.queue.paused, $0.queue.conflicts) = (3, 2, 1)
        ($0.queue.blocked, $0.queue.bytes, $0.queue.oldestAt) = (2, 100, 4_000)
      }
    )

    let queue = status.queue
    #expect((queue.total, queue.pending, queue.inFlight, queue.retrying) == (21, 6, 5, 4))
    #expect((queue.failed, queue.paused, queue.conflicts, queue.blocked, queue.bytes) == (3, 2, 1, 2, 100))
    #expect(queue.oldestChange == Date(timeIntervalSince1970: 4) && status.conflicts == 1 && !status.isInSync)
    #expect(status.verdict.state == .failed && status.verdict.needsPerson)
  }

  @Test func `progress has a rate and the time left, and that of fetching no total, so it is never complete`() {
    let fetching = Status(store { $0.progress = Progress(fetched: 300) }).progress
    #expect(fetching?.phase == .fetching && fetching?.done == 300 && fetching?.total == nil)
    #expect(fetching?.fraction == nil && fetching?.secondsLeft == nil)

    let progress = Progress(phase: .send, done: 50, total: 200, perSecond: 10)
    let sending = Status(store { $0.progress = progress }).progress
    #expect(sending?.phase == .sending && sending?.fraction == 0.25)
    #expect(sending?.perSecond == 10 && sending?.secondsLeft == 15)
    let upload = Status(store { $0.progress = Progress(phase: .upload, done: 1, total: 4) }).progress
    #expect(upload?.phase == .assets && upload?.total == 4)
  }

  @Test(arguments: [
    (WaitScope.network, true, Status.Throttle.Scope.everything, Status.Throttle.Reason.noNetwork),
    (.account, true, .everything, .account),
    (.quota, false, .saves, .fullQuota),
    (.database, false, .everything, .server),
    (.database, true, .everything, .backOff),
    (.zone(ZoneKey(zone: "notes")), false, .zone(CKRecordZone.ID(zoneName: "notes")), .server),
    (.feed("notes"), true, .fetching, .backOff),
  ])
  func `a wait says what waits and why`(
    scope: WaitScope,
    isOwn: Bool,
    expected: CloudKitService.Status.Throttle.Scope,
    reason: CloudKitService.Status.Throttle.Reason
  ) {
    let status = Status(store { $0.throttles = [wait(scope, isOwn: isOwn)] })

    let shown = status.throttles.first
    #expect(shown?.scope == expected && shown?.reason == reason && shown?.until == Date(timeIntervalSince1970: 9))
    #expect(shown?.failure.ckError.code == .requestRateLimited)
  }

  @Test(arguments: [
    ("AUTHENTICATION_FAILED", Status.Account.signedOut), ("ACCESS_DENIED", .restricted),
    ("THROTTLED", .temporarilyUnavailable), ("BAD_REQUEST", .unknown),
  ])
  func `the account follows the server's refusal`(code: String, expected: CloudKitService.Status.Account) {
    let status = Status(store { $0.accountProblem = wait(.account, code) })
    #expect(status.account == expected)
    #expect(status.lastFailure?.isCurrent == true && status.lastFailure?.ckError?.serverErrorCode == code)
  }

  @Test func `the account is in one of the framework's five states`() {
    let states: [(StoreStatus, CKAccountStatus)] = [
      (store { $0.identity = nil }, .couldNotDetermine), (store(), .available),
      (store { $0.isRefused = true }, .noAccount),
      (store { $0.accountProblem = wait(.account, "AUTHENTICATION_FAILED") }, .noAccount),
      (store { $0.accountProblem = wait(.account, "ACCESS_DENIED") }, .restricted),
      (store { $0.accountProblem = wait(.account, "THROTTLED") }, .temporarilyUnavailable),
    ]
    for (store, expected) in states { #expect(Status(store).account.ckStatus == expected) }
  }

  @Test func `the account is known from the store's user, or unknown`() {
    #expect(Status(store()).account == .available("_ana"))
    #expect(Status(store { $0.identity = nil }).account == .unknown)
    #expect(Status(store { $0.isRefused = true }).account == .otherUser(owner: "_ana"))
  }

  @Test func `a failure is current until a sync succeeds, and as long as its problem lasts`() throws {
    #expect(Status(store()).lastFailure == nil)
    let late = try #require(Status(store { $0.lastError = failure("BAD_REQUEST") }).lastFailure)
    #expect(late.isCurrent && late.date == Date(timeIntervalSince1970: 3) && late.ckError?.code == .invalidArguments)
    let early = try #require(Status(store { $0.lastError = failure("BAD_REQUEST", at: 1_000) }).lastFailure)
    #expect(!early.isCurrent)
    let quota = try #require(Status(store { $0.quotaProblem = wait(.quota, "QUOTA_EXCEEDED") }).lastFailure)
    #expect(quota.isCurrent && quota.ckError?.code == .quotaExceeded && quota.date == nil)
  }

  @Test func `an error that stopped the engine comes before those in the store`() {
    let stop = CloudKitService.Stop(error: StoreError(.diskFull, "full"), at: Date(timeIntervalSince1970: 7))
    let status = Status(store { $0.lastError = failure("BAD_REQUEST") }, stop: stop)
    #expect(status.lastFailure?.message == "full" && status.lastFailure?.ckError == nil)
    #expect(Status(store(), readFailure: StoreError(.damaged, "damaged")).verdict.state == .unreadable)
  }

  @Test func `an error that stopped syncing is over once a sync succeeds, whichever process ran it`() {
    let stop = CloudKitService.Stop(error: StoreError(.diskFull, "full"), at: Date(timeIntervalSince1970: 0.5))
    #expect(Status(store(), stop: stop).lastFailure == nil)
  }

  @Test func `a store that cannot be read is not in sync, and its error is the current one`() {
    let status = Status(store { $0.lastError = failure("BAD_REQUEST") }, readFailure: StoreError(.damaged, "damaged"))
    #expect(store().isInSync && !status.isInSync)
    #expect(status.lastFailure?.isCurrent == true && status.lastFailure?.message == "damaged")
  }

  @Test func `a person is needed for all of a pause or a failure`() {
    #expect(Status(store { $0.pauses = [Pause(rule: .everything, at: 1)] }).verdict.needsPerson)
    #expect(Status(store { ($0.queue.total, $0.queue.failed) = (1, 1) }).verdict.needsPerson)
    #expect(!Status(store()).verdict.needsPerson)
  }

  @Test func `the states of a sync are equal only to themselves, and errors only for the same reason`() {
    let states: [CloudKitSyncStatus] = [.idle, .syncing, .paused, .complete, .error("offline"), .error("full")]
    for (place, state) in states.enumerated() {
      #expect(states.map { $0 == state } == states.indices.map { $0 == place })
    }
  }

  @Test func `a status does not change within a day while nothing happens`() {
    var later = store()
    later.generatedAt += 1000
    #expect(Status(store()) == Status(later))
  }
}

/// The status as a service publishes it.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct StatusTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  @Test func `a stream and a publisher give the current status, and then each change`() async throws {
    let service = try cloud.service()
    var published: [Int] = []
    let cancellable = service.statusPublisher.map(\.queue.total).removeDuplicates().sink { published.append($0) }
    var statuses = service.statuses.makeAsyncIterator()
    #expect(await statuses.next()?.queue.total == 0)
    try await service.save(cloud.note("a"))
    var latest = await statuses.next()
    while latest?.queue.total != 1 { latest = await statuses.next() }
    try await service.sync()

    while latest?.isInSync != true { latest = await statuses.next() }
    #expect(latest == service.status && published == [0, 1, 0])
    #expect(latest?.lastSuccess != nil && latest?.verdict.state == .inSync)
    var late = service.statuses.makeAsyncIterator()
    #expect(await late.next() == service.status)
    cancellable.cancel()
  }

  @Test func `a periodic sync goes on with one sync after another, until it is stopped`() async throws {
    let (mine, theirs) = (try cloud.service(), try cloud.service("theirs"))
    mine.startPeriodicSync(interval: 1)
    let ticking = try #require(mine.ticking)
    try await theirs.save(cloud.note("a"))
    try await theirs.sync()
    await until { mine.status.lastSuccess != nil }
    while try mine.engine?.record(cloud.id("a")) == nil { await Task.yield() }
    try await theirs.save(cloud.note("b"))
    try await theirs.sync()
    while try mine.engine?.record(cloud.id("b")) == nil { await Task.yield() }

    mine.stopPeriodicSync()
    #expect(mine.ticking == nil)
    try #require(ticking.isCancelled)
    await ticking.value
    await mine.stop()
  }

  @Test func `the streams end with the service`() async throws {
    var service: CloudKitService? = try cloud.service()
    let statuses = try #require(service?.statuses)
    service = nil
    var count = 0
    for await _ in statuses { count += 1 }
    #expect(count == 1)
  }

  @Test func `what a continuous sync meets is shown too, and ends with the next success`() async throws {
    let service = try cloud.service()
    try await service.save(cloud.note("a"))
    cloud.emulator.isOffline = true
    service.start()
    await until { service.lastError != nil }
    guard case CloudKitServiceError.networkUnavailable(let error?, _)? = service.lastError else {
      Issue.record("\(String(describing: service.lastError))")
      return
    }
    #expect(error.code == .networkFailure)
    // The wait ends with the next attempt, which fails and waits again.
    await until { service.status.verdict.state == .offline && service.status.throttles.first?.reason == .noNetwork }
    await until { if case .error = service.syncStatus { true } else { false } }
    #expect(service.status.syncingProcess != nil)

    cloud.emulator.isOffline = false
    try await service.sync()
    #expect(service.lastError == nil && service.status.isInSync && service.syncStatus == .complete)
    await service.stop()
  }

  @Test func `what is published has the effect of a call when it returns`() async throws {
    let service = try cloud.service()
    try await service.sync()
    #expect(service.isInSync)
    try await service.save(cloud.note("a"))
    #expect(!service.isInSync && service.queuedOperationCount == 1)
    try await service.pause()
    #expect(service.isPaused)
    let summary = try await service.sync()
    #expect(!summary.reachedEnd && service.queuedOperationCount == 1)
    try await service.resume()
    #expect(!service.isPaused)
  }

  @Test func `a full quota is a current failure while saves wait for it`() async throws {
    cloud.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "records/modify"), then: .quotaExceeded)
    ])
    let service = try cloud.service()
    try await service.save(cloud.note("a"))
    _ = try? await service.sync()

    let status = service.status
    #expect(status.lastFailure?.isCurrent == true && status.lastFailure?.ckError?.code == .quotaExceeded)
    #expect(status.throttles.map(\.reason).contains(.fullQuota) && status.verdict.state == .blocked)
    guard case CloudKitServiceError.quotaExceeded? = service.lastError else {
      Issue.record("\(String(describing: service.lastError))")
      return
    }
    if case .error = service.syncStatus {} else { Issue.record("\(service.syncStatus)") }
  }

  @Test func `progress never goes back within a phase, and is never complete before everything is sent and fetched`()
    async throws
  {
    let seen = Mutex<[CloudKitService.Status]>([])
    let store = Mutex<SyncStore?>(nil)
    let service = try cloud.service(beforeEachRequest: {
      guard let status = try? store.withLock({ $0 })?.status() else { return }
      seen.withLock { $0.append(CloudKitService.Status(status)) }
    })
    store.withLock { $0 = service.store }
    let theirs = try cloud.service("theirs")
    try await theirs.save((0..<450).map { cloud.note("t\($0)") })
    try await theirs.sync()
    try await service.save((0..<650).map { cloud.note("m\($0)") })
    let summary = try await service.sync()

    let statuses = seen.withLock { $0 }
    let progress = statuses.compactMap(\.progress)
    let sending = progress.filter { $0.phase == .sending }
    #expect(sending.map(\.done) == sending.map(\.done).sorted())
    #expect(Set(sending.map(\.done)) == [0, 200, 400, 600] && Set(sending.compactMap(\.total)) == [650])
    let fetched = progress.filter { $0.phase == .fetching }
    #expect(!fetched.isEmpty)
    // The phases may alternate, and each begins anew.
    for (earlier, later) in zip(progress, progress.dropFirst()) where earlier.phase == later.phase {
      #expect(earlier.done <= later.done)
    }
    #expect(fetched.allSatisfy { $0.fraction == nil })
    #expect(statuses.allSatisfy { !$0.isInSync } && service.syncProgress == 1)
    #expect(summary.sent == 650 && summary.fetched >= 450)
    store.withLock { $0 = nil }
  }

  @Test func `the events are those of the engine`() async throws {
    let service = try cloud.service()
    var events = service.events.makeAsyncIterator()
    try await service.sync()
    guard case .syncBegan? = await events.next(), case .syncEnded(let summary)? = await events.next() else {
      Issue.record("no sync")
      return
    }
    #expect(summary.reachedEnd && service.engine != nil && service.store != nil)
    let watching = try CloudKitService(store: #require(service.store), engine: nil)
    for await _ in watching.events { Issue.record("an event without an engine") }
  }
}
