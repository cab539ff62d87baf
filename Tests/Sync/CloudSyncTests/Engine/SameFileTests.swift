import CloudKit
import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@testable import CloudSync

@Suite(.serialized, .onFile) struct SameFileTests {
  private let world: World

  init() throws { world = try World() }

  private func device(_ name: String, policy: ConflictPolicy = .manual) throws -> TestDevice {
    try world.device(name, policy: policy, assetTransport: AssetWire(world))
  }

  private func photo(_ text: String, title: String? = nil) throws -> Change {
    let file = URL(fileURLWithPath: world.folder.path("photo-\(UUID().uuidString)"))
    try Data(text.utf8).write(to: file)
    var values: [String: FieldValue] = ["photo": .asset(WireAsset())]
    values["title"] = title.map(FieldValue.string)
    return Change(
      world.key("r"),
      .save(type: "Note", FieldChanges(values: values)),
      assets: ["photo": [AssetSource(file: file)]]
    )
  }

  /// Two devices that know the record, one of which has sent a file for it.
  private func sent(_ text: String, policy: ConflictPolicy = .manual) async throws -> TestDevice {
    let (mine, theirs) = (try device("mine", policy: policy), try device("theirs"))
    try theirs.store.accept(world.put("r", ["title": .string("r")]))
    try await theirs.sync()
    try await mine.sync()
    try theirs.store.accept(photo(text))
    try await theirs.sync()
    return mine
  }

  @Test func `the same file attached on both sides is no conflict`() async throws {
    let mine = try await sent("five!")
    try mine.store.accept(photo("five!"))

    try await mine.sync()

    #expect(try mine.store.queue().isEmpty && mine.store.status().isInSync)
    #expect(try mine.store.dropped().isEmpty)
  }

  @Test func `what was changed besides the same file is sent`() async throws {
    let mine = try await sent("five!")
    try mine.store.accept(photo("five!", title: "mine"))

    try await mine.sync()

    #expect(try mine.store.queue().isEmpty)
    #expect(world.onServer("r")?["title"] == .string("mine"))
  }

  @Test(arguments: ["other", "longer than that"])
  func `another file attached on both sides is a conflict, whatever its size`(_ text: String) async throws {
    let mine = try await sent("five!")
    try mine.store.accept(photo(text))

    try await mine.sync()

    #expect(try mine.store.queue() == ["save r conflict"])
  }

  @Test func `the same file in a record that both sides make is no conflict`() async throws {
    let (mine, theirs) = (try device("mine"), try device("theirs"))
    try theirs.store.accept(photo("five!"))
    try mine.store.accept(photo("five!"))
    try await theirs.sync()

    try await mine.sync()

    #expect(try mine.store.queue().isEmpty && mine.store.status().isInSync)
  }
}
