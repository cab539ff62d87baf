import CloudKit
import CloudService
import CloudSupport
import CloudSyncModels
import Foundation
import Testing

/// The code of the page.
enum MYCloudKitPage {
  // snippet.model
  struct Task: Codable, Identifiable, CKRecordModel {
    static let referenceActions: CKReferenceActions = ["project": .deleteSelf]
    let id: String
    var title: String
    var isDone: Bool
    var project: Link<Project>

    var zoneID: CKRecordZone.ID { CKRecordZone.ID(zoneName: project.recordName) }
  }
  // snippet.end

  // snippet.parent
  struct Subtask: Codable, Identifiable, CKRecordModel {
    static let systemKeys: [String: CKSystemValue] = ["parent": .parent]
    let id: String
    var title: String
    var parent: CKRecord.Reference?

    init(id: String, title: String, of task: Task) throws {
      (self.id, self.title) = (id, title)
      parent = try task.reference(in: task.zoneID)
    }
  }
  // snippet.end

  struct Project: Codable, Identifiable, CKRecordModel {
    let id: String
    var name: String
  }

  actor LocalDatabase {
    private(set) var names: Set<String> = []

    func save(_ record: CKRecord) throws { names.insert(record.recordID.recordName) }
    func delete(_ name: String) { names.remove(name) }
    func deleteGroup(_ name: String) { names.removeAll() }
  }

  // snippet.delegate
  final class AppSync: SyncEngineDelegate {
    let recordTypesInDependencyOrder = ["Project", "Tag", "Task", "Subtask"]
    let isAskedBeforeSending = false
    let local = LocalDatabase()

    func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {
      for record in changes.modifications { try await local.save(record) }
      for deletion in changes.deletions { await local.delete(deletion.recordID.recordName) }
      for zoneID in changes.deletedZones { await local.deleteGroup(zoneID.zoneName) }
    }

    func syncEngine(_ engine: SyncEngine, didFail change: FailedChange, of record: CKRecord?) async -> FailureDecision {
      guard let record, change.failure.ckError.code == .invalidArguments else { return .keep }
      record["title"] = "Untitled"
      return .replace(record)
    }
  }
  // snippet.end

  static func engine(_ container: CKContainer, _ path: String) async throws -> SyncEngine {
    // snippet.engine
    var configuration = try SyncEngine.Configuration(container: container, storePath: path)
    configuration.attemptLimit = 3
    let engine = try SyncEngine(configuration, delegate: AppSync())
    await engine.start()
    // snippet.end
    return engine
  }

  static func sync(_ engine: SyncEngine) async throws -> Task {
    // snippet.sync
    let project = Project(id: "home", name: "Home")
    let task = Task(id: "task123", title: "Finish homework", isDone: false, project: Link(project))
    try await engine.store.save(task, in: task.zoneID)
    // snippet.end
    return task
  }

  static func edit(_ task: Task, _ engine: SyncEngine) async throws {
    // snippet.edit
    var edited = task
    edited.isDone = true
    try await engine.store.save(edited, changedFrom: task, in: task.zoneID)
    // snippet.end
  }

  static func delete(_ task: Task, _ engine: SyncEngine) async throws {
    // snippet.delete
    try await engine.store.delete(task, in: task.zoneID)
    // snippet.end
  }

  static func deleteChildren(_ task: Task, _ engine: SyncEngine) async throws {
    // snippet.children
    try await engine.store.delete(task, cascade: .children, in: task.zoneID)
    // snippet.end
  }

  static func deleteGroup(_ task: Task, _ engine: SyncEngine) async throws {
    // snippet.zoneDeletion
    try await engine.store.deleteZone(task.zoneID)
    // snippet.end
  }

  static func fetch(_ engine: SyncEngine) async throws -> SyncSummary {
    // snippet.fetch
    let summary = try await engine.sync()
    if let error = summary.failure { print("Stopped: \(error.localizedDescription)") }
    // snippet.end
    return summary
  }

  static func events(_ engine: SyncEngine) async {
    // snippet.events
    for await event in engine.events {
      switch event {
      case .syncBegan: print("fetching")
      case .syncEnded(let summary): print(summary.failure.map { "stopped: \($0)" } ?? "completed")
      default: break
      }
    }
    // snippet.end
  }

  static func old(_ engine: SyncEngine, _ zoneID: CKRecordZone.ID) async throws -> ([Task], [Project]) {
    // snippet.zone
    let tasks = try await engine.store.all(Task.self, in: zoneID)
    let ungrouped = CKRecordZone.ID(zoneName: "MYCloudKitDefaultZone")
    let projects = try await engine.store.all(Project.self, in: ungrouped)
    // snippet.end
    return (tasks, projects)
  }

  static func share(_ task: Task, _ engine: SyncEngine, _ container: CKContainer) async throws -> CKShare? {
    // snippet.share
    let change = try await engine.store.save(task, in: task.zoneID)
    guard case .sent = try await change.outcome else { return nil }
    let database = container.privateCloudDatabase
    let share = try await database.share(task, title: "Shared Task List", in: task.zoneID)
    // snippet.end
    return share
  }

  static func shareGroup(_ task: Task, _ database: CKDatabase) async throws -> CKShare {
    // snippet.group
    let share = try await database.shareZone(task.zoneID, title: "Home")
    // snippet.end
    return share
  }

  static func accept(_ url: URL, _ container: CKContainer) async throws {
    // snippet.accept
    let metadata = try await container.shareMetadata(for: url)
    try await container.accept(metadata)
    // snippet.end
  }

  @MainActor
  static func accept(
    _ metadata: CKShare.Metadata,
    _ service: CloudKitService,
    _ zoneID: CKRecordZone.ID
  ) async throws -> [Task]? {
    // snippet.service
    try await service.accept(metadata)
    let tasks = try await service.shared?.store?.all(Task.self, in: zoneID)
    // snippet.end
    return tasks
  }
}

@Suite(.serialized, .timeLimit(.minutes(40))) struct ComingFromMYCloudKit {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  @Test func `a task is sent with its project, delivered to another device, edited and deleted there`() async throws {
    let mine = try SyncEngine(.init(container: cloud.container, storePath: cloud.path("mine")))
    let task = try await MYCloudKitPage.sync(mine)
    #expect(try await MYCloudKitPage.fetch(mine).failure == nil)
    let record = try await database.record(for: CKRecord.ID(recordName: "task123", zoneID: task.zoneID))
    #expect((record["project"] as? CKRecord.Reference)?.action == .deleteSelf)

    let app = MYCloudKitPage.AppSync()
    let theirs = try SyncEngine(.init(container: cloud.container, storePath: cloud.path("theirs")), delegate: app)
    _ = try await MYCloudKitPage.fetch(theirs)
    #expect(await app.local.names == ["home", "task123"])
    let tasks = try await MYCloudKitPage.old(theirs, task.zoneID).0
    #expect(tasks.map(\.title) == ["Finish homework"])

    try await MYCloudKitPage.edit(tasks[0], theirs)
    let subtask = try MYCloudKitPage.Subtask(id: "s", title: "Read", of: task)
    try await theirs.store.save(subtask, in: task.zoneID)
    _ = try await MYCloudKitPage.fetch(theirs)
    let child = try await database.record(for: CKRecord.ID(recordName: "s", zoneID: task.zoneID))
    #expect(child.parent?.recordID.recordName == "task123")
    try await MYCloudKitPage.deleteChildren(task, theirs)
    _ = try await MYCloudKitPage.fetch(theirs)
    #expect(await app.local.names == ["home"])
    #expect(try await database.all(MYCloudKitPage.Task.self, in: task.zoneID).isEmpty)

    try await MYCloudKitPage.delete(MYCloudKitPage.sync(theirs), theirs)
    try await MYCloudKitPage.deleteGroup(task, theirs)
    _ = try await MYCloudKitPage.fetch(theirs)
    #expect(try await database.allRecordZones().contains { $0.zoneID == task.zoneID } == false)
  }

  @Test func `a change that the server rejects is repaired by the app`() async throws {
    cloud.refuse("bad")
    let app = MYCloudKitPage.AppSync()
    let engine = try SyncEngine(.init(container: cloud.container, storePath: cloud.path("mine")), delegate: app)
    let zoneID = CKRecordZone.ID(zoneName: "home")
    let project = MYCloudKitPage.Project(id: "home", name: "Home")
    let task = MYCloudKitPage.Task(id: "bad", title: "", isDone: false, project: Link(project))
    let change = try await engine.store.save(task, in: zoneID)
    _ = try await MYCloudKitPage.fetch(engine)
    cloud.refuse("")
    _ = try await MYCloudKitPage.fetch(engine)

    guard case .sent(let record) = try await change.outcome else { Issue.record("not sent"); return }
    #expect(record?["title"] as? String == "Untitled")
  }

  @Test func `a task and its group are shared while the engine syncs by itself`() async throws {
    let engine = try await MYCloudKitPage.engine(cloud.container, cloud.path("mine"))
    let task = try await MYCloudKitPage.sync(engine)

    let share = try await MYCloudKitPage.share(task, engine, cloud.container)
    let url = try #require(share?.url)
    share?.publicPermission = .readWrite
    if let share { try await database.save(share) }
    let guest = cloud.container(of: "ben")
    try await MYCloudKitPage.accept(url, guest)
    #expect(try await guest.sharedCloudDatabase.allRecordZones().map(\.zoneID.zoneName) == ["home"])

    let project = MYCloudKitPage.Project(id: "work", name: "Work")
    let other = MYCloudKitPage.Task(id: "t", title: "Report", isDone: false, project: Link(project))
    _ = try await engine.store.save(other, in: other.zoneID).outcome
    let group = try await MYCloudKitPage.shareGroup(other, database)
    group.publicPermission = .readOnly
    try await database.save(group)

    let service = try await CloudKitService(.init(container: guest, storePath: cloud.path("guest")))
    let groupURL = try #require(group.url)
    let metadata = try await guest.shareMetadata(for: groupURL)
    let zoneID = metadata.share.recordID.zoneID
    #expect(try await MYCloudKitPage.accept(metadata, service, zoneID)?.map(\.title) == ["Report"])
    try await engine.stop()
  }
}
