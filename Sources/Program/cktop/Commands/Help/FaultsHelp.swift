import ArgumentParser
import CloudKitEmulator
import TerminalUI

/// `cktop help faults`: the help page for fault plans.
struct FaultsHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "faults",
    abstract: "The TOML fault plan of cktop serve --faults: what goes wrong, and when.",
    usage: "cktop serve --faults FILE",
    discussion: """
      Rules are tried in order on each request. The same seed replays a plan exactly. The request log names the rule \
      that applied; the admin endpoint counts them and accepts a new plan at run time (see cktop help admin).

        seed = 7                            # for rules with a probability; default 1

        [[rules]]                           # every fifth modify is throttled for 3 s
        when = { operation = "records/modify", every = 5 }
        then = { action = "throttled", retryAfter = 3 }

        [[rules]]                           # this record is rejected
        when = { recordName = "note-13" }
        then = "poison"

        [[rules]]                           # the first two replies are lost
        when = { operation = "records/modify", limit = 2 }
        then = "dropAfterCommit"

      WHEN: every condition given must hold; an omitted one always holds.

      \(Self.lines(FaultCondition.keys))

      THEN: a name, or a table with the name as action, and its parameters.

      How a request ends; only the first of these that applies takes effect:

      \(Self.lines(FaultAction.all.filter(\.endsRequest).map(\.words)))

      What else happens to the request; these add up:

      \(Self.lines(FaultAction.all.filter { !$0.endsRequest }.map(\.words)))
      """,
    shouldDisplay: false
  )

  private static func lines(_ entries: [(name: String, effect: String)]) -> String {
    entries.map { "  \($0.name.padding(to: 20))\($0.effect)" }.joined(separator: "\n")
  }

  func run() async throws { throw CleanExit.helpRequest(self) }
}
