import TerminalUI
import Testing

@testable import Dashboard

@Suite(.serialized) struct CommandTableTests {
  @Test func `every command stands in the table once, with a key and a help`() {
    for command in DashboardCommand.allCases {
      let entries = DashboardCommand.table.filter { $0.command == command }
      #expect(entries.count == 1, "\(command)")
      #expect(entries.allSatisfy { !$0.keys.isEmpty && !$0.help.isEmpty && !$0.name.isEmpty && !$0.contexts.isEmpty })
    }
  }

  @Test func `no two commands want the same key in the same place`() {
    for context in [DashboardCommand.Context.panes, .detail, .help, .desk, .question] {
      let keys = DashboardCommand.table.filter { $0.contexts.contains(context) }.flatMap(\.keys)
      #expect(Set(keys).count == keys.count, "\(context)")
    }
  }

  @Test func `what is pasted never runs a command`() {
    for context in [DashboardCommand.Context.panes, .detail, .help, .desk, .question] {
      #expect(DashboardCommand.command(for: .paste("dRq\n"), in: context) == nil)
    }
  }

  @Test func `the key that opens a question does not answer it`() {
    #expect(DashboardCommand.command(for: .character("d"), in: .question) == nil)
    #expect(DashboardCommand.command(for: .enter, in: .question) == nil)
    #expect(DashboardCommand.command(for: .character("y"), in: .question) == .yes)
  }

  @Test func `control keys keep their meaning everywhere`() {
    for context in [DashboardCommand.Context.panes, .detail, .help, .desk] {
      #expect(DashboardCommand.command(for: .ctrl("c"), in: context) == .quitAtOnce)
      #expect(DashboardCommand.command(for: .ctrl("z"), in: context) == .suspend)
    }
  }
}
