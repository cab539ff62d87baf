import CloudService
import CloudSync
import Facts
import TerminalUI

/// The demo's guided five minutes: cards that say what to try next, and follow what is done.
struct Tour: Hashable, Sendable {
  /// The number of cards that were done or skipped.
  private(set) var place = 0
  /// The actions since the present card was shown.
  private var actions: Set<Action> = []

  /// Something that a card waits for.
  private enum Action: Hashable, Sendable {
    case command(CommandID)
    case edited, resolved, undone
  }

  /// The text, with the user's own keys, and whether what it asks for is done.
  private typealias Card = (
    text: @Sendable (KeyMap) -> String, isDone: @Sendable (Set<Action>, StoreStatus) -> Bool
  )

  private static let cards: [Card] = [
    ({ _ in "Watch the queue: 600 changes are sent to a demo server." }, { $1.queue.total < 60 }),
    ({ "Press \($0.name(of: .demo)), then x: a record that the server rejects." }, { $1.queue.failed > 0 }),
    (
      { "Press \($0.name(of: .problems)) for what needs you." },
      { actions, _ in actions.contains(.command(.problems)) }
    ),
    (
      { "Press \($0.name(of: .edit)) on it: set number=5, then \($0.name(of: .saveEdit)) sends it again." },
      { actions, status in actions.contains(.edited) && status.queue.failed == 0 }
    ),
    ({ "Press \($0.name(of: .demo)), then m: two devices change one record." }, { $1.queue.conflicts > 0 }),
    (
      {
        "Press \($0.name(of: .conflicts)); \($0.name(of: .allServer)) takes the server's side, "
          + "\($0.name(of: .resolve)) resolves."
      },
      { actions, _ in actions.contains(.resolved) }
    ),
    (
      { "Wrong choice? \($0.name(of: .undo)) undoes it; \($0.name(of: .undoView)) lists all you can undo." },
      { actions, _ in actions.contains(.undone) || actions.contains(.command(.undoView)) }
    ),
    (
      { "Press \($0.name(of: .demo)), then n: the network is gone. Nothing is lost." },
      { $1.networkProblem != nil }
    ),
    ({ "Press \($0.name(of: .demo)), then n again: it goes on by itself." }, { $1.networkProblem == nil }),
    (
      { "Press \($0.name(of: .eventsView)): what this machine, the others and you did." },
      { actions, _ in actions.contains(.command(.eventsView)) }
    ),
    (
      { "Press \($0.name(of: .filter)) in a list and type a word; Esc shows all." },
      { actions, _ in actions.contains(.command(.filter)) }
    ),
    (
      { "Press \($0.name(of: .accountView)): with this store and URL, run cktop doctor." },
      { actions, _ in actions.contains(.command(.accountView)) }
    ),
    (
      { "\($0.name(of: .help)) shows the keys, \($0.name(of: .palette)) finds a command. Try one." },
      { actions, _ in actions.contains(.command(.help)) || actions.contains(.command(.palette)) }
    ),
  ]

  static var count: Int { cards.count }

  /// The card as a line; nil after the last one.
  func text(_ keys: KeyMap) -> String? { Self.cards.indices.contains(place) ? Self.cards[place].text(keys) : nil }

  mutating func record(_ id: CommandID) { actions.insert(.command(id)) }

  mutating func record(_ receipt: Receipt) {
    guard receipt.failure == nil else { return }
    switch receipt.command {
    case .edit: actions.insert(.edited)
    case .resolve, .resolveAll: actions.insert(.resolved)
    case .undo, .undoAll: actions.insert(.undone)
    default: break
    }
  }

  mutating func skip() { (place, actions) = (place + 1, []) }

  /// Goes on if the present card was done.
  mutating func follow(_ status: StoreStatus?) {
    guard let status, Self.cards.indices.contains(place), Self.cards[place].isDone(actions, status) else { return }
    skip()
  }
}
