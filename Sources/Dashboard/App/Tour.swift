import CloudService
import CloudSync
import Facts
import TerminalUI

/// The demo's guided five minutes: cards that say what to try next, and follow what is done.
struct Tour: Hashable, Sendable {
  /// The number of cards that were done or skipped.
  private(set) var place = 0
  /// The deeds since the present card was shown.
  private var deeds: Set<Deed> = []

  /// Something that a card waits for.
  private enum Deed: Hashable, Sendable {
    case command(CommandID)
    case edited, resolved, undone
  }

  /// The text, with the user's own keys, and whether what it asks for is done.
  private typealias Card = (
    text: @Sendable (KeyMap) -> String, isDone: @Sendable (Set<Deed>, StoreStatus) -> Bool
  )

  private static let cards: [Card] = [
    ({ _ in "Watch the queue: 600 changes are sent to a demo server." }, { $1.queue.total < 60 }),
    ({ "Press \($0.name(of: .demo)), then x: a record that the server rejects." }, { $1.queue.failed > 0 }),
    (
      { "Press \($0.name(of: .problems)) for what needs you." },
      { deeds, _ in deeds.contains(.command(.problems)) }
    ),
    (
      { "Press \($0.name(of: .edit)) on it: set number=5, then \($0.name(of: .saveEdit)) sends it again." },
      { deeds, status in deeds.contains(.edited) && status.queue.failed == 0 }
    ),
    ({ "Press \($0.name(of: .demo)), then m: two devices change one record." }, { $1.queue.conflicts > 0 }),
    (
      {
        "Press \($0.name(of: .conflicts)); \($0.name(of: .allServer)) takes the server's side, "
          + "\($0.name(of: .resolve)) resolves."
      },
      { deeds, _ in deeds.contains(.resolved) }
    ),
    (
      { "Wrong choice? \($0.name(of: .undo)) undoes it; \($0.name(of: .undoView)) lists all you can undo." },
      { deeds, _ in deeds.contains(.undone) || deeds.contains(.command(.undoView)) }
    ),
    (
      { "Press \($0.name(of: .demo)), then n: the network is gone. Nothing is lost." },
      { $1.networkProblem != nil }
    ),
    ({ "Press \($0.name(of: .demo)), then n again: it goes on by itself." }, { $1.networkProblem == nil }),
    (
      { "Press \($0.name(of: .eventsView)): what this machine, the others and you did." },
      { deeds, _ in deeds.contains(.command(.eventsView)) }
    ),
    (
      { "Press \($0.name(of: .filter)) in a list and type a word; Esc shows all." },
      { deeds, _ in deeds.contains(.command(.filter)) }
    ),
    (
      { "Press \($0.name(of: .accountView)): with this store and URL, run cktop doctor." },
      { deeds, _ in deeds.contains(.command(.accountView)) }
    ),
    (
      { "\($0.name(of: .help)) shows the keys, \($0.name(of: .palette)) finds a command. Try one." },
      { deeds, _ in deeds.contains(.command(.help)) || deeds.contains(.command(.palette)) }
    ),
  ]

  static var count: Int { cards.count }

  /// The card as a line; nil after the last one.
  func text(_ keys: KeyMap) -> String? { Self.cards.indices.contains(place) ? Self.cards[place].text(keys) : nil }

  mutating func note(_ id: CommandID) { deeds.insert(.command(id)) }

  mutating func note(_ receipt: Receipt) {
    guard receipt.failure == nil else { return }
    switch receipt.command {
    case .edit: deeds.insert(.edited)
    case .resolve, .resolveAll: deeds.insert(.resolved)
    case .undo, .undoAll: deeds.insert(.undone)
    default: break
    }
  }

  mutating func skip() { (place, deeds) = (place + 1, []) }

  /// Goes on if the present card was done.
  mutating func follow(_ status: StoreStatus?) {
    guard let status, Self.cards.indices.contains(place), Self.cards[place].isDone(deeds, status) else { return }
    skip()
  }
}
