import CloudKit
import Facts
import Foundation
import TerminalUI
import TestSupport
import Testing

@testable import CloudService
@testable import CloudSync
@testable import Dashboard

/// Random keys against the app over a real store: nothing traps, and nothing is lost that was not confirmed.
///
/// `KEYS=1000000 swift test --filter RandomKeysTests` types as many; `SEED=7` types others.
@Suite(.serialized) struct RandomKeysTests {
  private static let count = ProcessInfo.processInfo.environment["KEYS"].flatMap(Int.init) ?? 20_000
  private static let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? 1

  private static let keys: [Key] =
    "abcdefghijklmnoprstuvwxyzABCDFGHIJKLNOPRSTUVWXYZ0123456789!*/:? ='%".map(Key.character)
    + [
      .up, .down, .left, .right, .home, .end, .pageUp, .pageDown, .enter, .escape, .tab, .backTab, .backspace, .delete,
      .ctrl("d"), .ctrl("u"), .ctrl("l"), .paste("state = 'failed'"), .unknown,
    ]

  /// A store with operations in every state.
  private static func store() throws -> SyncStore {
    let store = try SyncStore(inMemoryFor: "iCloud.test", databaseScope: .private)
    let zone = ZoneKey(zone: "notes")
    _ = try store.enqueue(
      (1...60).map { number in
        Change(
          RecordKey(zone, "t\(number)"),
          .save(type: number % 3 == 0 ? "Photo" : "Task", FieldChanges(values: ["n": .int64(Int64(number))]))
        )
      }
    )
    try store.write { ledger in
      for var operation in try ledger.operations((1...60).map(Int64.init)) {
        switch operation.id % 6 {
        case 1: operation.apply(.failed(.rejected(code: "BAD_REQUEST", message: "no")))
        case 2:
          operation.apply(.deferred(until: .max / 2, isServersWait: false))
          operation.cause = .backOff(code: "THROTTLED", attempt: 1, of: 8)
        case 3: operation.apply(.conflicted(.fields([]), now: 1))
        case 4: operation.apply(.paused(by: "ana"))
        default: break
        }
        try ledger.update(operation)
      }
    }
    return store
  }

  @Test func `random keys lose nothing that was not confirmed`() throws {
    let store = try Self.store()
    let before = Set(try store.operations().rows.map(\.id))
    var random = SplitMix64(seed: Self.seed)
    var app = App()
    var world = Sample.world { $0.now = Int64(Date().timeIntervalSince1970 * 1000) }
    var confirmed: Set<Int64> = []
    func look() throws {
      world.data = try ViewData.whole(of: store, app.scope(world))
    }
    /// The operations that the question on top is about.
    func named() throws -> Set<Int64> {
      switch (app.top as? Question)?.kind {
      case .discardOne(let row): [row.id]
      case .discard(.ids(let ids), _, _, _): Set(ids)
      case .discard(.listing(let listing, let except), _, _, _):
        Set(try store.view { try $0.operationIDs(of: listing) }).subtracting(except)
      default: []
      }
    }
    var asked: Set<Int64> = []
    func carryOut(_ effects: [Effect], _ wasAsked: Bool, _ key: Key) {
      for effect in effects {
        guard case .give(let command) = effect else { continue }
        if case .perform(.discard, _, _, _) = command { #expect(wasAsked && key == .character("y")) }
        let receipt = command.run(on: { store })
        if receipt.verb == .discard {
          #expect(asked.isSuperset(of: receipt.result.changed), "Only what the question named is discarded.")
          confirmed.formUnion(receipt.result.changed)
        }
        switch command {
        case .resolve, .resolveAll: confirmed.formUnion(receipt.result.changed)
        default: break
        }
        _ = app.update(.receipt(receipt), world)
      }
    }
    try look()
    for step in 1...Self.count {
      let key = Self.keys.randomElement(using: &random) ?? .unknown
      // The palette can quit.
      if app.hasEnded { app = App() }
      let wasAsked = app.top is Question
      asked = try named()
      if step % 97 == 0 {
        world.size = Size(
          width: Int.random(in: 0...130, using: &random),
          height: Int.random(in: 0...45, using: &random)
        )
      }
      carryOut(app.update(.keys([key]), world), wasAsked, key)
      if step % 5 == 0 {
        try look()
        carryOut(app.update(.changed, world), false, .unknown)
      }
      if step % 20 == 0 { _ = app.draw(world) }
      // The demo's own life: what was emptied fills again.
      if step % 2000 == 0 { _ = try store.resumeAll(actor: "test") }
    }

    let after = Set(try store.operations().rows.map(\.id))
    #expect(before.subtracting(after).subtracting(confirmed).isEmpty)
    #expect(confirmed.count > 5, "The keys reach what they are to test.")
  }
}
