import ArgumentParser
import CloudSync
import Facts
import Testing

@testable import cktop

@Suite(.serialized) struct CommandEndTests {
  private struct Root: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "cktop", version: "1.2.3")
    @OptionGroup var store: StoreOptions
  }

  private func ending(_ arguments: [String], of root: any ParsableCommand.Type = Root.self) -> CommandEnd? {
    do {
      // Help is a command of its own, which throws only when it runs.
      var command = try root.parseAsRoot(arguments)
      try command.run()
      return nil
    } catch {
      return CommandEnd(error, of: root, arguments: arguments)
    }
  }

  private static let combinations: [([CommandStatus], CommandStatus)] = [
    ([], .done), ([.done], .done), ([.done, .itemsFailed], .itemsFailed),
    ([.itemsFailed, .cloudUnreachable], .cloudUnreachable), ([.cloudUnreachable, .personNeeded], .personNeeded),
    ([.personNeeded, .storeUnusable, .itemsFailed], .storeUnusable), (CommandStatus.allCases, .usage),
  ]

  @Test(arguments: combinations) func `of several codes the worst is reported`(
    _ statuses: [CommandStatus],
    _ status: CommandStatus
  ) {
    #expect(CommandStatus.combined(statuses) == status)
    #expect(CommandStatus.combined(statuses.reversed()) == status)
  }

  @Test func `codes are those of the contract`() {
    #expect(CommandStatus.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
  }

  @Test func `a failure is one line whatever it holds`() {
    let failure = CommandFailure("the store \u{1B}[2J\nis damaged; restore it", .storeUnusable)

    #expect(failure.line == "cktop: the store ␛[2J␊is damaged; restore it")
    let end = CommandEnd(failure, of: Root.self)
    #expect(end.standardError == failure.line)
    #expect(end.standardOutput == nil)
    #expect(end.code == 4)
  }

  @Test func `a long argument is quoted by its beginning`() throws {
    let long = String(repeating: "x", count: 10_000)

    for arguments in [["--\(long)"], [long]] {
      let line = try #require(ending(arguments)?.standardError)
      #expect(line.contains("x…'") && line.count < 500)
    }
  }

  @Test func `wrong usage exits with 2 and one line`() throws {
    for arguments in [["--nonsense"], ["--store"], ["extra"], ["--read-only=maybe"]] {
      let end = try #require(ending(arguments))
      #expect(end.code == 2)
      #expect(end.standardOutput == nil)
      let line = try #require(end.standardError)
      #expect(line.hasPrefix("cktop: ") && !line.contains("\n") && line.contains("; "))
    }
  }

  @Test func `help and version are no failures`() {
    #expect(ending(["--version"])?.standardOutput == "1.2.3")
    #expect(ending(["--version"])?.code == 0)
    #expect(ending(["--help"])?.code == 0)
    #expect(ending(["--help"])?.standardError == nil)
    #expect(ending(["--help"])?.standardOutput?.contains("--read-only") == true)
  }

  @Test(arguments: ["conflicts resolve", "zones accept", "zones restore", "queue list"])
  func `the help of every verb lists --version once`(_ verb: String) throws {
    let end = ending(verb.split(separator: " ").map(String.init) + ["--help"], of: Cktop.self)

    let lines = try #require(end?.standardOutput).split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("  --version ") } == 1)
    #expect(lines.contains { $0.hasPrefix("  -h, --help ") })
  }

  @Test func `a wrong expression is a usage error that names the column`() {
    do {
      _ = try QueueFilter(parsing: "age > 5")
    } catch {
      let end = CommandEnd(error, of: Root.self)
      #expect(end.standardError == "cktop: an age needs a unit: 90s, 5m, 1h, 2d (column 7)")
      #expect(end.code == 2)
    }
  }

  @Test func `an error of no known kind is one line too`() {
    struct Odd: Error, CustomStringConvertible {
      let description = "odd\nthing"
    }

    let end = CommandEnd(Odd(), of: Root.self)

    #expect(end.standardError == "cktop: odd␊thing")
    #expect(end.code == 1)
  }

  @Test func `a code thrown by itself says nothing`() {
    let end = CommandEnd(ArgumentParser.ExitCode(3), of: Root.self)

    #expect(end.code == 3)
    #expect(end.standardError == nil && end.standardOutput == nil)
  }
}
