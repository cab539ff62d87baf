import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import cktop

/// The command lines that the README and the handbook show.
struct DocumentedCommandTests {
  @Test func `the program accepts every command line of the README and the handbook`() throws {
    var count = 0
    for page in try Self.pages() {
      for line in try Self.lines(of: page) {
        for arguments in Self.arguments(of: line) {
          count += 1
          do {
            _ = try Cktop.parseAsRoot(StoreOptions.afterVerb(arguments))
          } catch  where Cktop.exitCode(for: error) != .success {
            Issue.record("\(page): \(line): \(Cktop.message(for: error))")
          } catch {}
        }
      }
    }
    #expect(count > 60)
  }

  @Test func `the unit of the service starts a verb of the program`() throws {
    let text = try packageText("Sources/Handbook/Program/Resources/cktop.service")
    let line = try #require(text.firstMatch(of: /\nExecStart=\/usr\/bin\/(cktop .*)\n/)).1
    let arguments = try #require(Self.arguments(of: String(line)).first)

    #expect(try Cktop.parseAsRoot(StoreOptions.afterVerb(arguments)) is SyncCommand)
  }

  @Test(
    arguments: [
      ("cktop sync # all", [["sync"]]), ("cktop sync --watch 2>> sync.log &", [["sync", "--watch"]]),
      ("cktop sync && cktop verify", [["sync"], ["verify"]]), ("swift run cktop demo", [["demo"]]),
      ("sudo -u cktop XDG_CONFIG_HOME=/etc cktop doctor > a 2>&1", [["doctor"]]), ("export A=any", []),
      (#"cktop queue list --where "state = 'a b'" --json"#, [["queue", "list", "--where", "state = 'a b'", "--json"]]),
      ("cktop ──> Dashboard", []),
    ] as [(String, [[String]])]
  )
  func `the commands of a line are what a shell would start`(_ line: String, _ commands: [[String]]) {
    #expect(Self.arguments(of: line) == commands)
  }

  // MARK: - Pages

  private static func pages() throws -> [String] {
    let folder = "Sources/Handbook"
    let names = try FileManager.default.subpathsOfDirectory(atPath: packageFile(folder).path)
    return ["README.md"] + names.filter { $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
  }

  /// The lines of the indented blocks of a page.
  private static func lines(of page: String) throws -> [String] {
    try packageText(page).split(separator: "\n")
      .filter { $0.hasPrefix("    ") }.map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// The arguments of each `cktop` that a shell starts for a line.
  private static func arguments(of line: String) -> [[String]] {
    commands(of: line).compactMap { words in
      // A drawing of modules.
      guard !words.contains(where: { $0.hasPrefix("─") }) else { return nil }
      let prefixes = [["sudo", "-u", "cktop"], ["swift", "run"]]
      var words = words[...]
      for prefix in prefixes where words.starts(with: prefix) { words = words.dropFirst(prefix.count) }
      words = words.drop { $0.contains(/^[A-Z_]+=/) }
      return words.first == "cktop" ? Array(words.dropFirst()) : nil
    }
  }

  /// The words of the commands of a line, without redirections and comments.
  private static func commands(of line: String) -> [[String]] {
    var (commands, words): ([[String]], [String]) = ([], [])
    var (word, quote): (String?, Character?) = (nil, nil)
    var isFile = false
    func endWord() {
      if let word, !isFile { words.append(word) }
      if word != nil { isFile = false }
      word = nil
    }
    func endCommand() {
      endWord()
      if !words.isEmpty { commands.append(words) }
      words = []
    }
    for character in line {
      switch character {
      case _ where character == quote: quote = nil
      case _ where quote != nil: word = (word ?? "") + String(character)
      case "'", "\"": (quote, word) = (character, word ?? "")
      case "#" where word == nil:
        endCommand()
        return commands
      case ">", "<":
        // The number of a stream is not a word.
        if word.flatMap({ Int($0) }) != nil { word = nil }
        endWord()
        isFile = true
      case "&" where isFile: word = "&"
      case "|", "&", ";": endCommand()
      case " ": endWord()
      default: word = (word ?? "") + String(character)
      }
    }
    endCommand()
    return commands
  }
}
