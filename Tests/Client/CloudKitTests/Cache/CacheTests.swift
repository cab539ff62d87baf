import Foundation
import JSONText
import Synchronization
import Testing

@testable import CloudKit

/// The cache behind the calls of a container.
@Suite(.serialized) struct CacheTests {
  private let zone = CKRecordZone.ID(zoneName: "notes")
  private var id: CKRecord.ID { CKRecord.ID(recordName: "n", zoneID: zone) }

  /// A clock that a test sets.
  private final class Clock: Sendable {
    private let start = ContinuousClock.now
    private let passed = Mutex(Duration.zero)

    func now() -> ContinuousClock.Instant { start + passed.withLock { $0 } }
    func pass(_ seconds: Int) { passed.withLock { $0 += .seconds(seconds) } }
  }

  private func configuration(
    _ server: any CKTransport,
    _ settings: CKRecordCacheSettings = .fast,
    _ clock: Clock = Clock()
  ) -> CKContainerConfiguration {
    var configuration = CKContainerConfiguration(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "user"),
      transport: server
    )
    configuration.cache = settings
    if settings.isEnabled { configuration.recordCache = SharedRecordCache(settings, now: clock.now) }
    return configuration
  }

  private func container(
    _ server: any CKTransport,
    _ settings: CKRecordCacheSettings = .fast,
    _ clock: Clock = Clock()
  ) -> CKContainer { CKContainer(configuration: configuration(server, settings, clock)) }

  private static func note(_ tag: String, _ name: String = "n", _ title: String = "Milk", type: String = "Note")
    -> String
  {
    #"{"recordName":"\#(name)","recordType":"\#(type)","recordChangeTag":"\#(tag)","fields":{"title":{"value":"\#(title)","type":"STRING"},"count":{"value":3,"type":"INT64"}}}"#
  }

  /// The same record with its zone, as in replies to queries of all zones.
  private static func inZone(_ record: String) -> String {
    #"{"zoneID":{"zoneName":"notes","ownerRecordName":"_o"},"# + record.dropFirst()
  }

  private static func records(_ elements: String...) -> ScriptedServer.Answer {
    .json(#"{"records":[\#(elements.joined(separator: ","))]}"#)
  }

  private static func page(_ records: String) -> ScriptedServer.Answer {
    .json(#"{"zones":[{"zoneID":{"zoneName":"notes"},"syncToken":"t","records":[\#(records)]}]}"#)
  }

  /// The tag of a record, and whether the server was asked for it.
  private func fetch(
    _ container: CKContainer,
    _ server: ScriptedServer,
    _ id: CKRecord.ID? = nil
  ) async throws -> (tag: String?, isAsked: Bool) {
    let before = server.operations.count
    let record = try await container.privateCloudDatabase.record(for: id ?? self.id)
    return (record.recordChangeTag, server.operations.count > before)
  }

  // MARK: - Serving

  @Test func `without a cache every fetch is a request`() async throws {
    let server = ScriptedServer(repeating: Self.records(Self.note("1")))
    let container = container(server, .off)

    for _ in 1...3 { #expect(try await fetch(container, server).isAsked) }
  }

  @Test func `a fetched record is served from memory until it is too old`() async throws {
    let server = ScriptedServer(Self.records(Self.note("1")), Self.records(Self.note("2")))
    let clock = Clock()
    let container = container(server, CKRecordCacheSettings(), clock)

    #expect(try await fetch(container, server) == ("1", true))
    clock.pass(29)
    #expect(try await fetch(container, server) == ("1", false))
    clock.pass(1)
    #expect(try await fetch(container, server) == ("2", true))
  }

  @Test func `only the records that are missing are asked for`() async throws {
    let server = ScriptedServer(
      Self.records(Self.note("1", "a")),
      Self.records(Self.note("2", "b"), #"{"recordName":"c","reason":"no","serverErrorCode":"NOT_FOUND"}"#)
    )
    let database = container(server).privateCloudDatabase
    let ids = ["a", "b", "c"].map { CKRecord.ID(recordName: $0, zoneID: zone) }
    _ = try await database.record(for: ids[0])

    let results = try await database.records(for: ids)

    #expect(try results[ids[0]]?.get().recordChangeTag == "1")
    #expect(try results[ids[1]]?.get().recordChangeTag == "2")
    #expect(await errorCode { try results[ids[2]]?.get() } == .unknownItem)
    let asked = try server.bodies()[1]["records"]?.elements.map { $0["recordName"] }
    #expect(asked == [.string("b"), .string("c")])
  }

  @Test func `an operation is served too, and its fields are those that it wants`() async throws {
    let server = ScriptedServer(Self.records(Self.note("1")))
    let database = container(server).privateCloudDatabase
    _ = try await database.record(for: id)

    let record = await withCheckedContinuation { continuation in
      let operation = CKFetchRecordsOperation(recordIDs: [id])
      operation.desiredKeys = ["title"]
      operation.perRecordResultBlock = { _, result in continuation.resume(returning: try? result.get()) }
      database.add(operation)
    }

    #expect(record?.allKeys() == ["title"] && server.operations.count == 1)
  }

  @Test func `records are served as copies, which the caller may edit`() async throws {
    let server = ScriptedServer(Self.records(Self.note("1")))
    let database = container(server).privateCloudDatabase

    for _ in 1...3 {
      let record = try await database.record(for: id)
      #expect(record["title"] as? String == "Milk" && record.changedKeys().isEmpty && record["extra"] == nil)
      record["title"] = "Oats"
      record["extra"] = 1
      record.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p", zoneID: zone), action: .none)
    }
    #expect(server.operations.count == 1)
  }

  @Test func `a cancelled call is not served`() async throws {
    let server = ScriptedServer(Self.records(Self.note("1")))
    let database = container(server).privateCloudDatabase
    let id = id
    _ = try await database.record(for: id)

    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await errorCode { try await database.record(for: id) }
    }

    #expect(await task.value == .operationCancelled)
  }

  @Test func `a cache with a maximum never holds more`() async throws {
    let names = (0..<30).map { "n\($0)" }
    let server = ScriptedServer(names.map { Self.records(Self.note("1", $0)) })
    let configuration = configuration(server, CKRecordCacheSettings(maximumCount: 3))
    let container = CKContainer(configuration: configuration)

    for name in names {
      _ = try await fetch(container, server, CKRecord.ID(recordName: name, zoneID: zone))
      #expect(try #require(configuration.recordCache).size.count <= 3)
    }

    #expect(try await !fetch(container, server, CKRecord.ID(recordName: "n29", zoneID: zone)).isAsked)
  }

  @Test func `a type can opt out`() async throws {
    let server = ScriptedServer(repeating: Self.records(Self.note("1", type: "Stock")))
    let container = container(server, CKRecordCacheSettings(uncachedTypes: ["Stock"]))

    for _ in 1...2 { #expect(try await fetch(container, server).isAsked) }
  }

  @Test func `one name in two zones and in two databases is four records`() async throws {
    let server = ScriptedServer((1...4).map { Self.records(Self.note("\($0)")) })
    let container = container(server)
    let databases = [container.privateCloudDatabase, container.sharedCloudDatabase]
    let places = databases.flatMap { database in
      [zone, CKRecordZone.ID(zoneName: "lists")].map { (database, CKRecord.ID(recordName: "n", zoneID: $0)) }
    }

    for _ in 1...2 {
      for (number, (database, id)) in places.enumerated() {
        let record = try await database.record(for: id)
        #expect(record.recordChangeTag == "\(number + 1)" && record.recordID == id)
      }
    }
    #expect(server.operations.count == 4)
  }

  @Test func `many tasks read, save and forget at the same time`() async throws {
    let server = ScriptedServer(repeating: Self.records(Self.note("1")))
    let configuration = configuration(server, .small)
    let containers = [CKContainer(configuration: configuration), CKContainer(configuration: configuration)]

    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask { [zone] in
          let database = containers[number % 2].privateCloudDatabase
          let id = CKRecord.ID(recordName: "n", zoneID: zone)
          for round in 0..<20 {
            let record = try await database.record(for: id)
            #expect(record["title"] as? String == "Milk")
            if round % 5 == 4 { database.forget(id) }
            if round == 10 { try await database.save(record) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try #require(configuration.recordCache).size.count <= 1)
  }

  // MARK: - What outdates a record

  @Test func `a saved record is served as the server saved it`() async throws {
    let server = ScriptedServer(Self.records(Self.note("1")), Self.records(Self.note("2", "n", "Oats, by the server")))
    let container = container(server)
    let record = try await container.privateCloudDatabase.record(for: id)
    record["title"] = "Oats"

    try await container.privateCloudDatabase.save(record)

    let again = try await container.privateCloudDatabase.record(for: id)
    #expect(again["title"] as? String == "Oats, by the server" && server.operations.count == 2)
  }

  /// An event after a record was fetched, and the answers that it gets.
  struct Event: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var answers: [ScriptedServer.Answer] = []
    var outdates = true
    let happens: @Sendable (CKContainer, CKRecord) async throws -> Void

    init(
      _ name: String,
      _ answers: ScriptedServer.Answer...,
      outdates: Bool = true,
      happens: @escaping @Sendable (CKContainer, CKRecord) async throws -> Void
    ) {
      (testDescription, self.answers, self.outdates, self.happens) = (name, answers, outdates, happens)
    }

    /// A push with the JSON of its part for CloudKit.
    static func push(_ name: String, _ ck: String, outdates: Bool = true) -> Event {
      Event("push: \(name)", outdates: outdates) { container, _ in
        let json = Data(#"{"aps":{},"ck":\#(ck)}"#.utf8)
        container.forget(try #require(CKNotification.notification(json: json)))
      }
    }
  }

  private static func save(_ record: CKRecord, _ container: CKContainer) async -> CKError.Code? {
    record["title"] = "mine"
    return await errorCode { try await container.privateCloudDatabase.save(record) }
  }

  private static let notes = CKRecordZone.ID(zoneName: "notes")
  private static let conflict = #"{"recordName":"n","reason":"oplock","serverErrorCode":"CONFLICT"}"#
  private static let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))

  static let events: [Event] = [
    Event("the record is deleted", records(#"{"recordName":"n","deleted":true}"#)) {
      try await $0.privateCloudDatabase.deleteRecord(withID: $1.recordID)
    },
    // It may refer to the deleted one.
    Event("another record of the zone is deleted", records(#"{"recordName":"o","deleted":true}"#)) {
      try await $0.privateCloudDatabase.deleteRecord(withID: CKRecord.ID(recordName: "o", zoneID: $1.recordID.zoneID))
    },
    Event("a deletion is answered without a type", records(#"{"recordName":"n"}"#)) {
      try await $0.privateCloudDatabase.deleteRecord(withID: $1.recordID)
    },
    Event("a save is in conflict, and the server's record cannot be fetched", records(conflict), .failure(.notSent)) {
      #expect(await save($1, $0) == .serverRecordChanged)
    },
    Event("the reply to a save is lost", .failure(.unknown)) { #expect(await save($1, $0) == .serverResponseLost) },
    Event("a save is not sent", .failure(.notSent), outdates: false) {
      #expect(await save($1, $0) == .networkUnavailable)
    },
    Event(
      "a save is throttled",
      .json(#"{"serverErrorCode":"THROTTLED","reason":"slow"}"#, status: 429),
      outdates: false
    ) { #expect(await save($1, $0) == .requestRateLimited) },
    Event("a share is saved", records(note("1", "Share-1", type: "cloudkit.share"))) {
      let share = CKShare(recordZoneID: $1.recordID.zoneID)
      _ = try await $0.privateCloudDatabase.modifyRecords(saving: [share], deleting: [])
    },
    Event("the zone is deleted", .json(#"{"zones":[{"zoneID":{"zoneName":"notes"},"deleted":true}]}"#)) {
      try await $0.privateCloudDatabase.deleteRecordZone(withID: $1.recordID.zoneID)
    },
    Event("the change feed has a newer version", page(note("2"))) { container, _ in
      _ = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: notes, since: nil)
    },
    Event("the change feed has this version", page(note("1")), outdates: false) { container, _ in
      _ = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: notes, since: nil)
    },
    Event("the change feed has its deletion", page(#"{"recordName":"n","deleted":true}"#)) { container, _ in
      _ = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: notes, since: nil)
    },
    Event(
      "the zone's token has expired",
      .json(
        #"{"zones":[{"zoneID":{"zoneName":"notes"},"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"}]}"#
      )
    ) { container, _ in
      let token = CKServerChangeToken(wire: "old")
      let code = await errorCode {
        try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: notes, since: token)
      }
      #expect(code == .changeTokenExpired)
    },
    Event("the database's feed names the zone", .json(#"{"zones":[{"zoneID":{"zoneName":"notes"}}],"syncToken":"t"}"#))
    {
      container,
      _ in
      _ = try await container.privateCloudDatabase.databaseChanges(since: nil)
    },
    Event(
      "the database's feed names another zone",
      .json(#"{"zones":[{"zoneID":{"zoneName":"lists"}}],"syncToken":"t"}"#),
      outdates: false
    ) { container, _ in
      _ = try await container.privateCloudDatabase.databaseChanges(since: nil)
    },
    Event("a query finds another version", records(note("2"))) { container, _ in
      _ = try await container.privateCloudDatabase.records(matching: query, inZoneWith: notes)
    },
    Event("a query finds this version", records(note("1")), outdates: false) { container, _ in
      _ = try await container.privateCloudDatabase.records(matching: query, inZoneWith: notes)
    },
    Event("a query of all zones finds another version", records(inZone(note("2")))) {
      container,
      _ in
      _ = try await container.privateCloudDatabase.records(matching: query)
    },
    Event(
      "a query is refused",
      .json(#"{"serverErrorCode":"BAD_REQUEST","reason":"no index"}"#, status: 400),
      outdates: false
    ) {
      container,
      _ in
      _ = await errorCode { try await container.privateCloudDatabase.records(matching: query, inZoneWith: notes) }
    },
    Event("the record is forgotten") { $0.privateCloudDatabase.forget($1.recordID) },
    Event("another record is forgotten", outdates: false) {
      $0.privateCloudDatabase.forget(CKRecord.ID(recordName: "o", zoneID: $1.recordID.zoneID))
      $0.publicCloudDatabase.forget($1.recordID)
    },
    Event("all records are forgotten") { container, _ in container.forgetRecords() },
    Event("the user signs out") { container, _ in container.signOut() },
    Event("another user signs in", .json(#"{"userRecordName":"_b"}"#)) { container, _ in
      let callback = try #require(URL(string: "cloudkit-icloud.test://done?ckWebAuthToken=other"))
      try await container.signIn(callback: callback)
    },
    Event(
      "the server names another user for the same token",
      .json(#"{"userRecordName":"_a"}"#),
      .json(#"{"userRecordName":"_b"}"#)
    ) { container, _ in
      _ = try await container.userRecordID()
      _ = try await container.userRecordID()
    },
    Event(
      "the server refuses the user",
      .json(#"{"serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"no"}"#, status: 421)
    ) { container, _ in
      _ = await errorCode { try await container.privateCloudDatabase.allRecordZones() }
    },
    .push("its record was changed", #"{"qry":{"dbs":2,"rid":"n","zid":"notes","zoid":"_o","fo":2}}"#),
    .push(
      "another record was changed",
      #"{"qry":{"dbs":2,"rid":"o","zid":"notes","zoid":"_o","fo":2}}"#,
      outdates: false
    ),
    .push("another record was deleted", #"{"qry":{"dbs":2,"rid":"o","zid":"notes","zoid":"_o","fo":3}}"#),
    .push("an unnamed record of the zone was changed", #"{"qry":{"dbs":2,"zid":"notes","fo":2}}"#),
    .push("its zone changed", #"{"fet":{"dbs":2,"zid":"notes","zoid":"_o"}}"#),
    .push("another zone changed", #"{"fet":{"dbs":2,"zid":"lists"}}"#, outdates: false),
    .push("an unnamed zone changed", #"{"fet":{"dbs":2}}"#),
    .push("its database changed", #"{"met":{"dbs":2}}"#),
    .push("another database changed", #"{"met":{"dbs":3}}"#, outdates: false),
    .push("a database changed", #"{"met":{}}"#),
  ]

  @Test(arguments: events)
  func `what may have changed is not served, and everything else is`(event: Event) async throws {
    let fresh = Self.records(Self.note("9"))
    let server = ScriptedServer([Self.records(Self.note("1"))] + event.answers + (event.outdates ? [fresh] : []))
    let container = container(server)
    let record = try await container.privateCloudDatabase.record(for: id)

    try await event.happens(container, record)

    #expect(try await fetch(container, server) == (event.outdates ? "9" : "1", event.outdates))
  }

  @Test func `after a conflict the server's record is served`() async throws {
    let server = ScriptedServer(
      Self.records(Self.note("1")),
      Self.records(Self.conflict),
      Self.records(Self.note("2", "n", "theirs"))
    )
    let container = container(server)
    let record = try await container.privateCloudDatabase.record(for: id)
    #expect(await Self.save(record, container) == .serverRecordChanged)

    #expect(try await fetch(container, server) == ("2", false))
  }

  @Test func `a push that is received outdates what it concerns`() async throws {
    let courier = #"{"apnsEnvironment":"development","apnsToken":"t","webcourierURL":"https://courier.test/aps?tok=t"}"#
    let server = ScriptedServer(
      Self.records(Self.note("1")),
      .json(courier),
      .json(#"{"aps":{},"ck":{"nid":"1","met":{"dbs":2,"sid":"d"}}}"#),
      Self.records(Self.note("2"))
    )
    let container = container(server)
    _ = try await fetch(container, server)

    var pushes = container.notifications.makeAsyncIterator()
    _ = try await pushes.next()

    #expect(try await fetch(container, server) == ("2", true))
  }

  @Test func `a read that a save overtakes does not bring the old version back`() async throws {
    let script = ScriptedServer(
      Self.records(Self.note("1")),
      Self.records(Self.note("2", "n", "Oats")),
      Self.records(Self.note("2", "n", "Oats"))
    )
    let server = HeldServer(script)
    let container = container(server)
    let database = container.privateCloudDatabase
    let id = id
    let read = Task { try await database.record(for: id).recordChangeTag }
    await server.isHolding()

    let mine = CKRecord(recordType: "Note", recordID: id)
    mine["title"] = "Oats"
    try await database.modifyRecords(saving: [mine], deleting: [], savePolicy: .allKeys)
    server.release()

    // The read began first, so it may return the old version.
    #expect(try await read.value == "1")
    #expect(try await database.record(for: id)["title"] as? String == "Oats")
  }

  // MARK: - Who shares a cache

  @Test func `containers of one configuration share a cache, and learn of each other's saves`() async throws {
    let server = ScriptedServer(Self.records(Self.note("1")), Self.records(Self.note("2")))
    let configuration = configuration(server)
    let (one, two) = (CKContainer(configuration: configuration), CKContainer(configuration: configuration))
    var other = configuration
    other.identifier = "iCloud.other"

    let record = try await one.privateCloudDatabase.record(for: id)
    #expect(try await fetch(two, server) == ("1", false))
    record["title"] = "Oats"
    try await one.privateCloudDatabase.save(record)

    #expect(try await fetch(two, server) == ("2", false))
    #expect(await errorCode { try await fetch(CKContainer(configuration: other), server) } != nil)
  }

  @Test func `a configuration with another transport or other settings has a cache of its own`() async throws {
    let (server, second) = (
      ScriptedServer(repeating: Self.records(Self.note("1"))), ScriptedServer(repeating: Self.records(Self.note("7")))
    )
    let configuration = configuration(server)
    _ = try await fetch(CKContainer(configuration: configuration), server)

    var elsewhere = configuration
    elsewhere.transport = second
    var smaller = configuration
    smaller.cache = .small

    #expect(try await fetch(CKContainer(configuration: elsewhere), second) == ("7", true))
    #expect(try await fetch(CKContainer(configuration: smaller), server).isAsked)
    #expect(try await !fetch(CKContainer(configuration: configuration), server).isAsked)
  }

  @Test func `a client below the databases always asks the server, and what it learns outdates the cache`() async throws
  {
    let server = ScriptedServer(
      Self.records(Self.note("1")),
      Self.records(Self.note("1")),
      Self.records(Self.note("2")),
      Self.records(#"{"recordName":"n","deleted":true}"#),
      Self.records(Self.note("3"))
    )
    let container = container(server)
    _ = try await fetch(container, server)
    let client = try container.webServices()

    for tag in ["1", "2"] {
      let found = try await client.lookup(["n"], zone: zone.wire, in: .private)
      #expect(found.map(\.id) == ["n"])
      #expect(try await fetch(container, server) == (tag, false))
    }
    let delete = WireRecordOperation(.forceDelete, WireRecord(recordName: "n"))
    _ = try await client.modify([delete], zone: zone.wire, atomic: true, in: .private)
    #expect(try await fetch(container, server) == ("3", true))
  }
}

/// Passes requests on, and holds the first reply back until it is released.
private final class HeldServer: CKTransport {
  private struct State {
    var isFirst = true
    var held: CheckedContinuation<Void, Never>?
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let base: any CKTransport
  private let state = Mutex(State())

  init(_ base: any CKTransport) { self.base = base }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    let isFirst = state.withLock { state in
      defer { state.isFirst = false }
      return state.isFirst
    }
    let response = try await base.send(request)
    guard isFirst else { return response }
    await withCheckedContinuation { held in
      state.withLock { state in
        state.held = held
        state.waiting?.resume()
        state.waiting = nil
      }
    }
    return response
  }

  /// Waits until the first reply is held back.
  func isHolding() async {
    await withCheckedContinuation { waiting in
      state.withLock { state in if state.held == nil { state.waiting = waiting } else { waiting.resume() } }
    }
  }

  func release() { state.withLock { $0.held }?.resume() }
}
