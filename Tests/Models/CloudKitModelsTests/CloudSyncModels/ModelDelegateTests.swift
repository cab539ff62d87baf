import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudSyncModels
import Synchronization
import TestSupport
import Testing

/// Models that an engine delivers.
@Suite(.serialized, .timeLimit(.minutes(40))) struct ModelDelegateTests {
  private let emulator: Emulator
  private let folder: TemporaryFolder

  init() throws {
    emulator = try Emulator()
    folder = try TemporaryFolder()
  }

  private struct Chore: Codable, Equatable, Identifiable, CKRecordModel {
    var id: String
    var title = "1"
  }

  private struct Other: Codable, Identifiable, CKRecordModel {
    var id: String
  }

  /// The events of a delegate, in order.
  private final class Log: Sendable {
    let lines = Mutex<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
  }

  private func engine(_ name: String, _ delegate: ModelDelegate? = nil) throws -> SyncEngine {
    var configuration = try SyncEngine.Configuration(
      container: .emulated(user: "ana", on: emulator),
      storePath: folder.path("\(name).sqlite")
    )
    configuration.deletionGuard = .off
    return try SyncEngine(configuration, delegate: delegate)
  }

  private func delegate(_ log: Log) -> ModelDelegate {
    ModelDelegate(
      .of(
        Chore.self,
        didReceive: { log.add("\($0.id)=\($0.title)") },
        didDelete: { log.add("-\($0.recordName)") },
        didFail: { chore, _ in
          log.add("failed \(chore?.title ?? "deletion")")
          return .discard
        }
      )
    )
  }

  @Test func `models of a type are received, changed and deleted, and other types are ignored`() async throws {
    let log = Log()
    let (mine, theirs) = (try engine("mine", delegate(log)), try engine("theirs"))
    try await theirs.store.save(Chore(id: "a"))
    try await theirs.store.save(Other(id: "o"))
    try await theirs.sync()
    try await mine.sync()
    #expect(log.all == ["a=1"])

    try await theirs.store.save(Chore(id: "a", title: "2"))
    try await theirs.sync()
    try await mine.sync()
    try await theirs.store.delete(Chore(id: "a"))
    try await theirs.sync()
    try await mine.sync()
    #expect(log.all == ["a=1", "a=2", "-a"])
  }

  @Test func `a change that failed for good is offered as a model, and the answer is carried out`() async throws {
    let log = Log()
    let mine = try engine("mine", delegate(log))
    emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "bad"), then: .poison)])
    try await mine.store.save([Chore(id: "bad", title: "x"), Chore(id: "good")])
    try await mine.sync()
    try await mine.sync()

    #expect(log.all.contains("failed x"))
    #expect(try await mine.store.all(Chore.self).map(\.id) == ["good"])
  }
}
