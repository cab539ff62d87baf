import CloudService
import CloudSync
import Facts
import TerminalUI

/// A question over the view in which it was asked. Enter is the safe answer.
struct Question: Screen {
  let kind: CommandQuestion

  init(_ kind: CommandQuestion) { self.kind = kind }

  var scopes: KeyScope { .question }
  var isOverlay: Bool { true }

  fileprivate func answered(_ world: World) -> [Step] {
    // The list has grown behind the question, whose number is not true any more.
    if let grown = grown(world) { return [.pop, .ask(grown)] }
    return [.pop] + kind.commands.map { .effect(.give($0)) } + (kind.commands.isEmpty ? [.quit] : [])
  }

  /// The same question about more changes, if more match now than it says.
  private func grown(_ world: World) -> CommandQuestion? {
    guard case .discard(.listing(let listing, let others), let versions, let count, let isMarked) = kind,
      let page = world.data.queue, page.listing == listing, page.isCounted, page.total - others.count > count
    else { return nil }
    let total = page.total - others.count
    return .discard(.listing(listing, except: others), versions: versions, count: total, isMarked: isMarked)
  }

  /// The question with what the list knows by now.
  func text(_ world: World) -> String {
    guard case .retryAll(let listing, let filter, let count, let recreated) = kind, let page = world.data.queue,
      page.listing == listing
    else { return kind.text }
    let known = CommandQuestion.retryAll(
      listing,
      filter: filter,
      count: count ?? page.retryable,
      recreated: count == nil ? page.recreated : recreated
    )
    return known.text
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let keys = [KeyHints.Hint("Enter", "no"), KeyHints.Hint("y", "yes")]
    let message = StyledText(text(world)).oneLine
    let dialog = Dialog(title: StyledText(kind.title), message: message, keys: keys, defaultKey: 0)
    frame.grid.draw(dialog, in: area)
    for (command, place) in zip([CommandID.no, .yes], dialog.keyPlaces(in: area, frame.grid.glyphs)) {
      frame.addTarget(.command(command), in: place)
    }
  }
}

extension Command {
  static let questions: [Command] = [
    Command(.yes, "y", "yes", "Do it", .question, [.change, .decides, .fixed])
      .run { (question: inout Question, world) in question.answered(world) },
    Command(.no, "n Esc Enter", "no", "Do not do it", .question, .fixed).run { _, _ in [.pop] },
  ]
}
