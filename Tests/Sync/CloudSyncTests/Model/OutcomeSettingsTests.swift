import CloudKit
import Foundation
import Testing

@testable import CloudSync

/// Which settings a sync goes by.
struct OutcomeSettingsTests {
  private static let rules: MergeRules = {
    var rules = MergeRules()
    rules["Note"] = ["tags": .elements]
    return rules
  }()

  private static let full = OutcomeSettings(
    policy: .client,
    mergeRules: rules,
    deletionGuard: DeletionGuard(count: 5, share: 0.1),
    asksBeforeSending: true,
    asksAboutConflicts: true
  )

  private static func full(_ change: (inout OutcomeSettings) -> Void) -> OutcomeSettings {
    var settings = full
    change(&settings)
    return settings
  }

  /// What is stored, what an engine names, whether that replaces, and what comes of it.
  struct Case: Sendable {
    var stored = full
    var named = OutcomeSettings()
    var replaces = false
    var decision: OutcomeSettings.Decision
  }

  private static let cases: [Case] = [
    // The first sync stores what it names, else the defaults.
    Case(stored: OutcomeSettings(), decision: .store(.standard)),
    Case(stored: OutcomeSettings(), named: full, decision: .store(full)),
    Case(
      stored: OutcomeSettings(policy: .manual),
      decision: .store(
        OutcomeSettings(
          policy: .manual,
          mergeRules: MergeRules(),
          deletionGuard: DeletionGuard(),
          asksBeforeSending: false,
          asksAboutConflicts: false
        )
      )
    ),
    Case(
      stored: OutcomeSettings(policy: .manual),
      named: OutcomeSettings(policy: .server),
      decision: .refuse([.policy("server", before: "manual")])
    ),
    // What is not named, or named alike, is used.
    Case(decision: .use),
    Case(named: full, decision: .use),
    Case(replaces: true, decision: .use),
    // Another value is refused, or replaces.
    Case(named: OutcomeSettings(policy: .server), decision: .refuse([.policy("server", before: "client")])),
    Case(named: OutcomeSettings(mergeRules: MergeRules()), decision: .refuse([.mergeRules])),
    Case(named: OutcomeSettings(deletionGuard: .off), decision: .refuse([.deletionGuard])),
    Case(
      named: .standard,
      decision: .refuse([.policy("server", before: "client"), .mergeRules, .deletionGuard])
    ),
    Case(
      named: OutcomeSettings(policy: .server),
      replaces: true,
      decision: .store(full { $0.policy = .server })
    ),
    Case(
      named: OutcomeSettings(mergeRules: MergeRules(), deletionGuard: .off),
      replaces: true,
      decision: .store(full { ($0.mergeRules, $0.deletionGuard) = (MergeRules(), .off) })
    ),
    // An app that is to be asked is added without a word, and taken back only by replacing.
    Case(
      stored: .standard,
      named: OutcomeSettings(asksBeforeSending: true),
      decision: .store(
        OutcomeSettings(
          policy: .server,
          mergeRules: MergeRules(),
          deletionGuard: DeletionGuard(),
          asksBeforeSending: true,
          asksAboutConflicts: false
        )
      )
    ),
    Case(named: OutcomeSettings(asksBeforeSending: false, asksAboutConflicts: false), decision: .use),
    Case(
      named: OutcomeSettings(asksBeforeSending: true, asksAboutConflicts: false),
      replaces: true,
      decision: .store(full { $0.asksAboutConflicts = false })
    ),
  ]

  @Test(arguments: cases.indices) func `a sync uses, stores or refuses settings`(_ index: Int) {
    let test = Self.cases[index]

    #expect(
      OutcomeSettings.decide(stored: test.stored, named: test.named, replaces: test.replaces) == test.decision
    )
  }

  @Test func `what an app decides is left open unless it was released`() {
    #expect(Self.full.merging().policy == .manual)
    #expect(Self.full.merging(isWithoutApp: true).policy == .client)
    #expect(Self.full { $0.asksAboutConflicts = false }.merging().policy == .client)
    #expect(Self.full.merging().rules == Self.rules)
    #expect(Self.full.merging().deletionGuard == DeletionGuard(count: 5, share: 0.1))
    #expect(Self.full { $0.deletionGuard = .off }.merging().deletionGuard == nil)
    #expect(OutcomeSettings().merging() == MergePolicy(.server, deletionGuard: DeletionGuard()))
  }

  @Test func `settings come back from the store as they were, and a later version may add some`() throws {
    let store = try World().open("store")
    try store.write { try $0.setSettings(Self.full) }
    #expect(try store.settings() == Self.full)

    try store.write { try $0.setValue(.settings, #"{"policy":"newest","later":{"a":1}}"#) }
    #expect(try store.settings() == OutcomeSettings(policy: .newest))
  }

  @Test(arguments: ["", "{", #"{"policy":"loudest"}"#, #"{"deletionGuard":1}"#])
  func `settings that cannot be read are an error, never the defaults`(_ text: String) async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try mine.store.write { try $0.setValue(.settings, text) }

    let error = await #expect(throws: StoreError.self) { try await mine.sync() }

    #expect(error?.kind == .damaged)
    #expect(mine.transport.total == 0)
    #expect(try mine.store.count("SELECT count(*) FROM operations") == 1)
  }
}
