import CloudService
import CloudSync
import TerminalUI

/// The messages of this run, newest first, as a list.
enum MessageKind: ListKind {
  typealias Listing = Whole
  static func page(_ world: World) -> ListPage<Whole, Notice>? { Whole.page(world.notices) }

  static var hasDetail: Bool { true }
  static func detail(of row: Notice, _ world: World) -> (title: String, inspector: any Inspector)? {
    ("Message", MessageInspector(message: row, world: world))
  }

  static var noun: String { "message" }
  static func line(_ message: Notice, _ world: World) -> String { message.commandLine ?? "" }
  static func opening(_ message: Notice, _ world: World) -> Offer {
    let command = message.commandLine.map { [("COMMAND LINE", $0, StyleRole.text)] } ?? []
    return .screen(
      ValueScreen("Message", [("MESSAGE", message.text, message.role)] + command, copy: message.commandLine)
    )
  }

  static func columns(_ list: RowList<MessageKind>, _ width: Int, _ world: World) -> [Table.Column] {
    let hasLines = world.notices.contains { $0.commandLine != nil }
    return [
      Table.Column("TIME", .fixed(8), priority: 9), Table.Column("MESSAGE", .flex(3), minimum: 20, priority: 8),
      Table.Column("COMMAND LINE", .flex(2), minimum: 20, priority: 7, isHidden: !hasLines),
    ]
  }

  static func cells(_ message: Notice, _ list: RowList<MessageKind>, _ width: Int, _ world: World) -> Table.Row {
    Table.Row([
      StyledText(world.short(message.at), .dim), StyledText(message.text, message.role),
      StyledText(message.commandLine ?? "", .dim),
    ])
  }

  static func empty(_ list: RowList<MessageKind>, _ world: World) -> String { "No message yet" }
}

extension Notice {
  fileprivate var role: StyleRole { isError ? .error : .text }
}

/// The messages of this run: its notices and the results of its commands, with the command lines that do the same.
struct MessagesScreen: ListScreen {
  var list = RowList<MessageKind>()

  var title: String? { "Messages" }
  var scopes: KeyScope { [.everywhere, .moving, .opening, .copying, .closing] }

  func subject(_ world: World) -> Subject {
    var subject = list.subject(world)
    subject.copy.label = "copy command line"
    let hasLine = list.selected(world)?.commandLine != nil
    subject.copy.refusal = subject.missing ?? (hasLine ? nil : "No command line does the same")
    return subject
  }
}

/// A message in full.
struct MessageInspector: Inspector {
  let message: Notice
  let world: World

  var missing: String { "" }

  var items: [InspectorItem]? {
    let command = message.commandLine.map { [InspectorItem.text(""), .heading("COMMAND LINE"), .text(StyledText($0))] }
    return [
      .text(StyledText(message.text, message.role)),
      .text(StyledText("\(world.time(message.at)) (\(world.ago(message.at)))", .dim)),
    ] + (command ?? [])
  }
}
