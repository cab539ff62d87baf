import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import CloudSync
import CloudSyncModels
import Foundation
import Testing

/// Models through the queue, to a server and back.
@Suite(.serialized) struct QueueTests {
  private let notes = CKRecordZone.ID(zoneName: "notes")
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  private struct Task: Codable, Equatable, Identifiable, CKRecordModel {
    var id = "t1"
    var title = "Milk"
    var due: Date?
    var tags: [String] = []
    var list: CKRecord.Reference?
  }

  private struct List: Codable, Equatable, CKRecordModel {
    var recordName = "list"
    var title = "Shopping"
  }

  @Test func `a model is on disk, goes to the server and is read on another device`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    let list = CKRecord.Reference(recordID: CKRecord.ID(recordName: "list", zoneID: notes), action: .deleteSelf)
    let task = Task(due: Date(timeIntervalSince1970: 1.5), tags: ["a"], list: list)

    try await phone.store.save(task, in: notes)
    try await phone.store.save(List(), in: notes)
    let reopened = try cloud.open("phone")
    #expect(try await reopened.load(Task.self, named: "t1", in: notes) == task)
    _ = try await phone.sync()
    _ = try await tablet.sync()

    #expect(try await tablet.store.load(Task.self, named: "t1", in: notes) == task)
    #expect(try await tablet.store.load(List.self, named: "list", in: notes) == List())
    #expect(try await tablet.store.load(Task.self, named: "t1") == nil)
    #expect(try phone.store.operations().total == 0)
  }

  @Test func `without a zone a model goes where there is a change feed, and so do its references`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    let task = Task(list: CKRecord.Reference(recordID: CKRecord.ID(recordName: "list"), action: .none))

    try await phone.store.save(task)
    try await phone.store.save(List())
    _ = try await phone.sync()
    _ = try await tablet.sync()

    let read = try #require(try await tablet.store.load(Task.self, named: "t1"))
    #expect(read.list?.recordID == CKRecord.ID(recordName: "list", zoneID: CKRecordZone.ID(zoneName: "cktop")))
    #expect(cloud.onServer("t1", zone: "cktop") != nil)
    try await tablet.store.save(read)
    #expect(try tablet.store.operations().total == 0)
    try await tablet.store.save(task)
    #expect(try tablet.store.operations().total == 0)
  }

  @Test func `nil clears the field on the server and what the model does not know stays`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.save(Task(due: Date(timeIntervalSince1970: 1), tags: ["a"]), in: notes)
    let colour = Change(
      RecordKey(zone: "notes", name: "t1"),
      .save(type: "Task", FieldChanges(values: ["colour": .string("red")]))
    )
    _ = try phone.store.enqueue([colour])
    _ = try await phone.sync()
    _ = try await tablet.sync()

    try await tablet.store.save(Task(title: "Oats"), in: notes)
    #expect(try await tablet.store.load(Task.self, named: "t1", in: notes) == Task(title: "Oats"))
    _ = try await tablet.sync()

    #expect(cloud.onServer("t1", zone: "notes").map { Set($0.keys) } == ["title", "colour"])
  }

  @Test func `only what was edited since is sent where the model as it was is given`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    let original = Task(due: Date(timeIntervalSince1970: 1))
    try await phone.store.save(original, in: notes)
    _ = try await phone.sync()
    _ = try await tablet.sync()
    try await tablet.store.save(Task(title: "Oats", due: original.due), in: notes)
    _ = try await tablet.sync()
    _ = try await phone.sync()

    var edited = original
    edited.due = nil
    edited.tags = ["a"]
    try await phone.store.save(edited, changedFrom: original, in: notes)
    _ = try await phone.sync()

    #expect(try await phone.store.load(Task.self, named: "t1", in: notes) == Task(title: "Oats", tags: ["a"]))
    await #expect(throws: CKModelError.self) {
      try await phone.store.save(Task(id: "t2"), changedFrom: original, in: notes)
    }
  }

  private struct Post: Codable, Equatable, Identifiable, CKRecordModel {
    static let mergeRules: [String: MergeRule] = ["tags": .elements]
    var id = "p1"
    var title = "Milk"
    var tags = ["a", "b"]
  }

  @Test func `fields of a model merge by the rules that it declares`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    let original = Post()
    try await phone.store.save(original, in: notes)
    _ = try await phone.sync()
    _ = try await tablet.sync()

    try await tablet.store.save(Post(tags: ["a", "b", "d"]), in: notes)
    _ = try await tablet.sync()
    try await phone.store.save(Post(tags: ["b", "c"]), in: notes)
    _ = try await phone.sync()
    #expect(try await phone.store.load(Post.self, named: "p1", in: notes) == Post(tags: ["b", "c", "d"]))

    // The original is long past: only the difference to it is merged.
    try await phone.store.save(Post(tags: ["a", "b", "e"]), changedFrom: original, in: notes)
    _ = try await phone.sync()
    #expect(try await phone.store.load(Post.self, named: "p1", in: notes) == Post(tags: ["b", "c", "d", "e"]))
  }

  @Test func `an edit of a model that others deleted is the whole model`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    let original = Task(tags: ["a"])
    try await phone.store.save(original, in: notes)
    _ = try await phone.sync()
    _ = try await tablet.sync()
    try await tablet.store.delete(original, in: notes)
    _ = try await tablet.sync()
    _ = try await phone.sync()

    try await phone.store.save(Task(title: "Oats", tags: ["a"]), changedFrom: original, in: notes)
    _ = try await phone.sync()

    #expect(try await phone.store.load(Task.self, named: "t1", in: notes) == Task(title: "Oats", tags: ["a"]))
    #expect(cloud.onServer("t1", zone: "notes")?["tags"] != nil)
  }

  @Test func `an edit of a model as it was long ago overwrites nobody's newer value`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    let original = Task()
    try await phone.store.save(original, in: notes)
    _ = try await phone.sync()
    _ = try await tablet.sync()
    try await tablet.store.save(Task(title: "Oats"), in: notes)
    _ = try await tablet.sync()
    _ = try await phone.sync()

    try await phone.store.save(Task(title: "Rice", tags: ["a"]), changedFrom: original, in: notes)
    _ = try await phone.sync()

    #expect(try await phone.store.load(Task.self, named: "t1", in: notes) == Task(title: "Oats", tags: ["a"]))
    #expect(try phone.store.view { try $0.dropped() }.map { $0.changes.names } == [["title"]])
  }

  @Test func `a group is sent in one request and a refusal of one refuses all`() async throws {
    let phone = try cloud.device("phone")
    var changes = CKModelChanges(in: notes)
    try changes.save(List())
    for index in 0..<3 { try changes.save(Task(id: "t\(index)")) }

    var withRefused = changes
    try withRefused.delete(Task(id: String(repeating: "n", count: 256)))
    for isAtomic in [true, false] {
      await #expect(throws: StoreError.self) { try await phone.store.enqueue(withRefused, atomically: isAtomic) }
    }
    #expect(try phone.store.operations().total == 0)

    try await phone.store.enqueue(changes, atomically: true)
    let ids = try phone.store.operations().rows.map(\.id)
    let groups = try Set(ids.map { id in try phone.store.view { try $0.detail(of: id) }?.operation?.group })
    #expect(groups.count == 1 && !groups.contains(nil))
    _ = try await phone.sync()
    #expect(cloud.onServer("t2", zone: "notes") != nil)
  }

  @Test func `changes of one record in a row end in the last one`() async throws {
    let phone = try cloud.device("phone")
    try await phone.store.save(Task(title: "Milk", tags: ["a"]), in: notes)
    _ = try await phone.sync()

    var changes = CKModelChanges(in: notes)
    try changes.save(Task(title: "Oats"))
    try changes.save(Task(title: "Milk", tags: ["a"]))
    try await phone.store.enqueue(changes)
    #expect(try await phone.store.load(Task.self, named: "t1", in: notes) == Task(title: "Milk", tags: ["a"]))

    var remade = CKModelChanges(in: notes)
    try remade.delete(Task())
    try remade.save(Task(title: "Rice"))
    try await phone.store.enqueue(remade)
    _ = try await phone.sync()
    #expect(try await phone.store.load(Task.self, named: "t1", in: notes) == Task(title: "Rice"))

    try await phone.store.delete(Task(), in: notes)
    #expect(try await phone.store.load(Task.self, named: "t1", in: notes) == nil)
    _ = try await phone.sync()
    #expect(cloud.onServer("t1", zone: "notes") == nil)
  }

  @Test func `a record of another type is not overwritten`() async throws {
    let phone = try cloud.device("phone")
    try await phone.store.save(List(recordName: "t1"), in: notes)

    await #expect(throws: StoreError.self) { try await phone.store.save(Task(), in: notes) }
    await #expect(throws: CKModelError.self) { try await phone.store.load(Task.self, named: "t1", in: notes) }
  }

  @Test func `an insert of what is here is refused, and of what the server has fails without changing it`() async throws
  {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.insert(Task(), in: notes)
    await #expect(throws: StoreError.self) { try await phone.store.insert(Task(title: "Oats"), in: notes) }
    _ = try await phone.sync()

    try await tablet.store.insert(Task(title: "Rye"), in: notes)
    _ = try await tablet.sync()
    let failed = try tablet.store.operations().rows
    #expect(failed.map(\.state) == [.failed] && failed.first?.errorCode == "EXISTS")
    #expect(cloud.onServer("t1", zone: "notes")?["title"] == .string("Milk"))
    _ = try await tablet.sync()
    _ = try tablet.store.perform(.retry, on: .all, actor: "test")
    _ = try await tablet.sync()
    #expect(try tablet.store.operations().rows.map(\.errorCode) == ["EXISTS"])
    #expect(cloud.onServer("t1", zone: "notes")?["title"] == .string("Milk"))
  }

  @Test func `an insert whose reply is lost is not a duplicate of itself`() async throws {
    let phone = try cloud.device("phone")
    try await phone.store.save(List(), in: notes)
    _ = try await phone.sync()
    try await phone.store.insert(Task(), in: notes)
    cloud.requests.loseReplies = 1
    _ = try? await phone.sync()
    _ = try? await phone.sync()

    #expect(try phone.store.operations().total == 0)
    #expect(cloud.onServer("t1", zone: "notes") != nil)
  }

  @Test func `an update of what is not here is refused`() async throws {
    let phone = try cloud.device("phone")
    await #expect(throws: StoreError.self) { try await phone.store.update(Task()) }
    try await phone.store.upsert(Task())
    try await phone.store.update(Task(title: "Oats"))
    #expect(try await phone.store.load(Task.self, named: "t1")?.title == "Oats")
    try await phone.store.delete(Task())
    await #expect(throws: StoreError.self) { try await phone.store.update(Task()) }
    try await phone.store.insert(Task(title: "Rye"))
    #expect(try await phone.store.load(Task.self, named: "t1")?.title == "Rye")
  }

  @Test func `the models of a store are listed, page by page too, with what is queued`() async throws {
    let phone = try cloud.device("phone")
    let tasks = (0..<5).map { Task(id: "t\($0)") }
    try await phone.store.save(tasks)
    try await phone.store.save(List())
    _ = try await phone.sync()
    try await phone.store.save(Task(id: "t9", title: "Rye"))
    try await phone.store.delete([Task(id: "t0"), Task(id: "t1")])

    #expect(try await phone.store.all(Task.self).map(\.id) == ["t2", "t3", "t4", "t9"])
    var pages: [[String]] = []
    for try await page in phone.store.pages(of: Task.self, size: 3) { pages.append(page.models.map(\.id)) }
    #expect(pages == [["t2", "t3", "t4"], ["t9"]])
    let some = try await phone.store.load(Task.self, named: ["t2", "t0"])
    #expect(some.keys.sorted() == ["t2"])
    #expect(try await phone.store.all(Task.self, in: notes).isEmpty)
  }

  @Test func `a field of another type than the server's is refused by name before anything is queued`() async throws {
    struct Numbered: Codable, Identifiable, CKRecordModel {
      var id = "t7"
      var title = 5
      static let recordType = "Task"
    }
    let phone = try cloud.device("phone")
    try await phone.store.save(Task(), in: notes)
    _ = try await phone.sync()

    for model in [Numbered(), Numbered(id: "t1")] {
      let error = await #expect(throws: CKModelError.self) { try await phone.store.save(model, in: notes) }
      #expect(error?.model == "Task" && error?.field == "title")
    }
    #expect(try phone.store.operations().total == 0)
  }

  @Test func `a closure can give each new model its record name, once`() async throws {
    struct Numbered: Codable, CKRecordModel {
      var recordName: String
      var title = "Milk"
      init(_ makeName: () -> String) { recordName = makeName() }
    }
    var count = 0
    let models = (0..<3).map { _ in
      Numbered {
        count += 1
        return "n\(count)"
      }
    }
    let phone = try cloud.device("phone")
    try await phone.store.save(models)
    try await phone.store.save(models)
    #expect(count == 3)
    #expect(try phone.store.operations().rows.map(\.key.name) == ["n1", "n2", "n3"])
  }

  @Test func `new models have names of their own`() async throws {
    struct Shelf: Codable, Identifiable, CKRecordModel {
      var id = UUID()
      var title = "Milk"
    }
    let phone = try cloud.device("phone")
    try await phone.store.save((0..<1000).map { _ in Shelf() })
    #expect(Set(try phone.store.operations().rows.map(\.key.name)).count == 1000)
  }

  @Test func `any identity that can be written as text is the record name`() async throws {
    struct Slug: LosslessStringConvertible, Codable, Hashable {
      var words: [String]
      init?(_ text: String) { words = text.split(separator: "-").map(String.init) }
      var description: String { words.joined(separator: "-") }
    }
    struct Article: Codable, Equatable, Identifiable, CKRecordModel {
      var id: Slug
      var title = "Milk"
    }
    let phone = try cloud.device("phone")
    let article = Article(id: try #require(Slug("red-fox")))
    try await phone.store.save(article)
    #expect(try phone.store.operations().rows.map(\.key.name) == ["red-fox"])
    #expect(try await phone.store.load(Article.self, named: "red-fox") == article)
  }

  @Test func `an insert that found a record can be saved over it, and undoing its discard does not do that`()
    async throws
  {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.insert(Task(), in: notes)
    _ = try await phone.sync()
    try await tablet.store.insert(Task(title: "Rye"), in: notes)
    _ = try await tablet.sync()

    let failed = try #require(try tablet.store.operations().rows.first)
    _ = try tablet.store.perform(.discard, on: .all, actor: "test")
    _ = try tablet.store.undo(failed.id, actor: "test")
    _ = try await tablet.sync()
    #expect(try tablet.store.operations().rows.map(\.state) == [.failed])
    #expect(cloud.onServer("t1", zone: "notes")?["title"] == .string("Milk"))
    _ = try tablet.store.perform(.discard, on: .all, actor: "test")
    try await tablet.store.save(Task(title: "Oats"), in: notes)
    _ = try await tablet.sync()
    #expect(try tablet.store.operations().total == 0)
    #expect(cloud.onServer("t1", zone: "notes")?["title"] == .string("Oats"))
  }

  @Test func `a save over an insert that failed is sent`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.insert(Task(), in: notes)
    _ = try await phone.sync()
    try await tablet.store.insert(Task(title: "Rye"), in: notes)
    _ = try await tablet.sync()

    try await tablet.store.save(Task(title: "Oats"), in: notes)
    _ = try await tablet.sync()
    #expect(try tablet.store.operations().rows.map(\.errorCode).allSatisfy { $0 == nil })
    #expect(try tablet.store.operations().rows.allSatisfy { $0.state != .failed })
  }

  @Test func `a record of another device that is partly the same is not taken for a lost insert`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.save(List(), in: notes)
    _ = try await phone.sync()
    _ = try await tablet.sync()
    try await tablet.store.insert(Task(tags: ["a"]), in: notes)
    cloud.requests.dropWrites = 100
    _ = try? await tablet.sync()
    cloud.requests.dropWrites = 0
    try await phone.store.insert(Task(tags: ["b"]), in: notes)
    _ = try await phone.sync()
    _ = try? await tablet.sync()

    #expect(try tablet.store.operations().rows.map(\.errorCode) == ["EXISTS"])
    #expect(try await phone.store.load(Task.self, named: "t1", in: notes)?.tags == ["b"])
  }

  @Test func `the outcome of a model's change can be awaited, and models of one name are not saved together`()
    async throws
  {
    let phone = try cloud.device("phone")
    let change = try await phone.store.save(Task(), in: notes)
    _ = try await phone.sync()
    guard case .sent(let record?) = try await change.outcome else {
      Issue.record("The change was not sent.")
      return
    }
    #expect(try CKRecordDecoder().decode(Task.self, from: record) == Task())

    let error = await #expect(throws: CKModelError.self) { try await phone.store.save([Task(), Task(title: "Rye")]) }
    #expect(error?.model == "Task")
    #expect(try phone.store.operations().total == 0)
  }
}
