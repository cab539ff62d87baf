import ArgumentParser
import Facts
import Testing

@testable import cktop

/// The help texts, of which the manual pages are made.
struct HelpTests {
  private static let commands = all(under: Cktop.self)

  private static func all(under command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
    [command] + command.configuration.subcommands.flatMap(all)
  }

  @Test(
    arguments: [
      ("stauts", "status"), ("statu", "status"), ("snyc", "sync"), ("evnets", "events"), ("que", nil),
      ("qeue", "queue"),
      ("conflict", "conflicts"), ("verfiy", "verify"), ("nope", nil), ("", nil),
    ] as [(String, String?)]
  )
  func `a mistyped command is taken for the one that it nearly is`(_ typed: String, _ meant: String?) {
    #expect(Words.nearest(to: typed, among: Cktop.configuration.subcommands.map { $0._commandName }) == meant)
  }

  @Test func `help is in ASCII, because the manual pages leave out everything else`() {
    #expect(Self.commands.count > 40)
    for command in Self.commands {
      let lines = Cktop.helpMessage(for: command, columns: 80).split(separator: "\n")
      #expect(lines.filter { !$0.allSatisfy(\.isASCII) } == [])
    }
  }
}
