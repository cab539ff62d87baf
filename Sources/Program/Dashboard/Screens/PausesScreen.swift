import CloudService
import CloudSync
import Facts
import TerminalUI

/// The pause rules as a list.
enum PauseKind: ListKind {
  typealias Listing = Whole
  static func page(_ world: World) -> ListPage<Whole, Pause>? { Whole.page(world.status?.pauses) }

  static var noun: String { "pause" }

  static func columns(_ list: RowList<PauseKind>, _ width: Int, _ world: World) -> [Table.Column] {
    [
      Table.Column("PAUSED", .flex(3), minimum: 12, priority: 9), Table.Column("SINCE", .fixed(12), priority: 8),
      Table.Column("BY", .flex(2), minimum: 8, priority: 7), Table.Column("UNSENT", .fixed(9), .trailing, priority: 6),
    ]
  }

  static func cells(_ pause: Pause, _ list: RowList<PauseKind>, _ width: Int, _ world: World) -> Table.Row {
    let held = world.unsent(under: pause.rule)
    return Table.Row([
      StyledText(pause.rule.text, .strong), StyledText(world.moment(pause.at), .dim),
      StyledText(pause.actor ?? "unknown", .dim),
      StyledText(Format.number(held), held > 0 ? .pending : .dim),
    ])
  }

  static func empty(_ list: RowList<PauseKind>, _ world: World) -> String { "No pause rule is set" }
}

/// Every pause rule, with who set it and when. A rule holds for later changes, too.
struct PausesScreen: ListScreen {
  var list = RowList<PauseKind>()

  var title: String? { "Pauses" }
  var scopes: KeyScope { [.everywhere, .moving, .pauses, .closing] }

  func note(_ world: World) -> StyledText {
    let single = world.status?.queue.paused ?? 0
    return StyledText(single > 0 ? "\(Words.count(single, "change")) paused one by one, see the queue" : "", .dim)
  }
}

extension Command {
  static let pauses: [Command] = [
    Command("liftPause", "p", "resume", "Resume what the selected rule pauses", .pauses, [.change, .decides])
      .unless(PausesScreen.unselected)
      .run { (pauses: inout PausesScreen, world) in
        pauses.list.selected(world).map { [.effect(.give(.resume([$0.rule])))] } ?? []
      }
  ]
}
