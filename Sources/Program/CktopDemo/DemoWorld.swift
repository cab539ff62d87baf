import CloudKit
import CloudKitEmulator
package import CloudSync
import Dispatch
import Foundation

/// The demo: an emulator on loopback, this machine's importer of laboratory samples, and two other devices that edit
/// the same records. All data that the dashboard shows is real: it went over HTTP into a store on disk.
@MainActor
package final class DemoWorld {
  package nonisolated static let container = "iCloud.org.example.laboratory"
  private nonisolated static let user = "ana"
  private nonisolated static let zone = "Laboratory"

  package let store: SyncStore
  package let engine: SyncEngine
  package let url: String
  private let folder: URL
  private let emulator: Emulator
  private let server: EmulatorServer
  private var random: SeededGenerator
  private var ticks = 0
  private var samples = 0
  private var poisons = 0
  private var isWorking = false
  private var timer: (any DispatchSourceTimer)?
  /// Whether the elements have arrived. Stocks are corrected only after that.
  private var hasRead = false
  private let database = EmulatorDatabase.private(of: user, container)

  /// Starts the emulator and opens a store in a folder of its own.
  package init(seed: UInt64) async throws {
    random = SeededGenerator(seed: seed)
    Self.removeAbandoned()
    folder = FileManager.default.temporaryDirectory.appending(
      path: "\(Self.folderName)\(ProcessInfo.processInfo.processIdentifier)-\(UUID().uuidString)"
    )
    var configuration = EmulatorConfiguration()
    configuration.seed = seed
    let emulator = try Emulator(configuration: configuration)
    self.emulator = emulator
    // A delay, so that progress can be seen.
    server = EmulatorServer(emulator, delay: .milliseconds(60))
    let port = try await server.start()
    url = "http://127.0.0.1:\(port)"
    guard let baseURL = URL(string: url) else { preconditionFailure("The address is a URL.") }
    store = try SyncStore(
      path: folder.appending(path: "demo.sqlite").path(percentEncoded: false),
      scope: SyncStore.Scope(container: Self.container, environment: "development", database: .private)
    )
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: Self.container,
        environment: "development",
        credential: .webAuth(apiToken: "demo", webAuthToken: Self.user)
      ),
      transport: CKHTTPTransport(baseURL: baseURL, timeout: .seconds(20))
    )
    engine = SyncEngine(
      store: store,
      SyncEngine.Configuration(client: client, policy: .manual, pollInterval: 2, fullScanInterval: 60)
    )
    try fill()
  }

  /// Lets the devices live: four times a second each of them may do something.
  package func start() {
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.setEventHandler { [weak self] in Task { @MainActor in await self?.tick() } }
    timer.schedule(deadline: .now(), repeating: .milliseconds(250), leeway: .milliseconds(50))
    timer.activate()
    self.timer = timer
  }

  /// Stops the emulator and removes the store.
  package func close() async {
    timer?.cancel()
    // First, because there may be little time after the terminal is lost.
    try? FileManager.default.removeItem(at: folder)
    try? await server.stop(grace: .milliseconds(100))
  }

  private static let folderName = "cktop-demo-"

  /// Removes the files of demos that were killed.
  private static func removeAbandoned() {
    let temporary = FileManager.default.temporaryDirectory
    for name in (try? FileManager.default.contentsOfDirectory(atPath: temporary.path)) ?? [] {
      guard name.hasPrefix(folderName), let process = pid_t(name.dropFirst(folderName.count).prefix { $0 != "-" }),
        process > 0,
        kill(process, 0) != 0, errno == ESRCH
      else { continue }
      try? FileManager.default.removeItem(at: temporary.appending(path: name))
    }
  }

  /// Fills the server with records of other devices, and the queue with changes of this machine.
  private func fill() throws {
    let now = Date()
    try emulator.createZone(Self.zone, in: database, at: now)
    for element in Elements.all {
      try emulator.save(
        in: database,
        zone: Self.zone,
        user: Self.user,
        recordType: "Element",
        recordName: element.symbol,
        fields: [
          "name": .string(element.name), "number": .int64(Int64(element.number)), "weight": .double(element.weight),
          "period": .int64(Int64(element.period)), "shelf": .string("S\(element.period)"), "grams": .double(100),
        ],
        at: now
      )
    }
    let accepted = try store.enqueue((0..<600).map { _ in newSample() })
    assert(accepted.count == 600, "Every sample is accepted.")
  }

  private func newSample() -> Change {
    samples += 1
    let element = Elements.all[random.below(Elements.all.count)]
    let key = RecordKey(zone: Self.zone, name: String(format: "sample-%05d", samples))
    return Change(
      key,
      .save(
        type: "Sample",
        FieldChanges(values: [
          "element": .reference(WireReference(recordName: element.symbol)),
          "milligrams": .double(Double(random.below(90_000) + 10_000) / 100),
          "purity": .double(Double(random.below(1000) + 9000) / 100),
          "takenBy": .string(["ana", "bo", "chen", "dia"][random.below(4)]),
        ])
      )
    )
  }

  // MARK: - Time

  /// Simulates a quarter of a second; does nothing while syncing is paused.
  func tick() async {
    guard !isWorking else { return }
    isWorking = true
    let (store, hasRead) = (store, hasRead)
    // Off the main actor, so that no key waits for the store.
    let isReady = await Task.detached {
      (hasRead || (try? store.view { try $0.zones() })?.contains { $0.tokenAt != nil } ?? false)
        && (try? store.pauses())?.isEmpty ?? true
    }.value
    isWorking = false
    guard isReady else { return }
    self.hasRead = true
    ticks += 1
    if ticks % 3 == 0 { editHere() }
    if ticks % 4 == 1 { editElsewhere() }
    if ticks % 60 == 30 { disagree() }
  }

  /// Continues this machine's import: new samples, and corrections of stock.
  private func editHere() {
    let batch = random.below(12) == 0 ? 40 : 1 + random.below(3)
    var changes = (0..<batch).map { _ in newSample() }
    if random.below(2) == 0 { changes.append(stockHere("grams", .double(Double(random.below(20_000)) / 100))) }
    enqueue(changes)
  }

  private func stockHere(_ field: String, _ value: FieldValue, of symbol: String? = nil) -> Change {
    let symbol = symbol ?? Elements.all[random.below(Elements.all.count)].symbol
    return Change(
      RecordKey(zone: Self.zone, name: symbol),
      .save(type: "Element", FieldChanges(values: [field: value]))
    )
  }

  /// Moves an element to another shelf on another device, which merges by field with local edits.
  private func editElsewhere() {
    let symbol = Elements.all[random.below(Elements.all.count)].symbol
    let shelf = "S\(1 + random.below(9))"
    saveElsewhere(symbol, ["shelf": .string(shelf)])
    log("the phone moved \(symbol) to shelf \(shelf)")
  }

  /// Writes what another device did into the store's log.
  private func log(_ text: String) {
    let store = store
    Task.detached { try? store.logSimulated(text) }
  }

  private func saveElsewhere(_ symbol: String, _ fields: [String: EmulatorValue?]) {
    _ = try? emulator.save(
      in: database,
      zone: Self.zone,
      user: Self.user,
      recordType: "Element",
      recordName: symbol,
      fields: fields,
      at: Date()
    )
  }

  /// Corrects the same stock on two devices at the same time.
  private func disagree() {
    let symbol = Elements.all[random.below(Elements.all.count)].symbol
    saveElsewhere(symbol, ["grams": .double(Double(random.below(9_000)) / 100), "shelf": .string("cold room")])
    log("the tablet moved \(symbol) to the cold room and weighed it")
    enqueue([
      stockHere("grams", .double(Double(random.below(9_000)) / 100), of: symbol),
      stockHere("shelf", .string("fume hood"), of: symbol),
    ])
  }

  private func enqueue(_ changes: [Change]) {
    let store = store
    isWorking = true
    Task { [weak self] in
      _ = await Task.detached { try? store.enqueue(changes) }.value
      self?.isWorking = false
    }
  }

  // MARK: - Faults

  /// A fault that a key injects.
  package struct Fault: Sendable {
    package let key: Character
    package let label: String
  }

  package let faults = [
    Fault(key: "n", label: "network off or on"),
    Fault(key: "w", label: "throttle"),
    Fault(key: "m", label: "conflict"),
    Fault(key: "x", label: "bad record"),
    Fault(key: "o", label: "lose a reply"),
  ]

  /// Runs a key's action and returns the message to show.
  package func press(_ key: Character) -> String {
    switch key {
    case "n":
      emulator.isOffline.toggle()
      guard !emulator.isOffline else { return "The network is off" }
      // After a long outage the next attempt would be minutes away.
      _ = try? store.flush(actor: "demo")
      return "The network is on again"
    case "w":
      emulator.throttle(until: Date().addingTimeInterval(15))
      return "The server throttles all clients for 15 seconds"
    case "m":
      disagree()
      return "Two devices edited the same record"
    case "x":
      poisons += 1
      let key = RecordKey(zone: Self.zone, name: "poison-\(poisons)")
      enqueue([Change(key, .save(type: "Element", FieldChanges(values: ["number": .string("not a number")])))])
      return "Queued a record with a wrong field type"
    case "o":
      var condition = FaultCondition()
      condition.operation = "records/modify"
      condition.limit = 1
      emulator.faults = FaultPlan(rules: [FaultRule(when: condition, then: .dropAfterCommit)])
      return "The next reply to a save will be lost"
    default:
      return ""
    }
  }
}
