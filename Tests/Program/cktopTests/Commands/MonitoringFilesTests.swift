import Foundation
import TestSupport
import Testing

/// The alert rules, the Grafana dashboard and the completion scripts, compared with the program that they belong to.
@Suite(.serialized) struct MonitoringFilesTests {
  private static let rules = "cktop-alerts.yml"
  private static let dashboard = "cktop-grafana.json"

  static let promtool = ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":")
    .map { "\($0)/promtool" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }
  static let hasPromtool = promtool != nil

  private static func file(_ name: String) -> URL {
    packageFile("Sources/Handbook/Program/Resources").appending(path: name)
  }

  private static func text(of name: String) throws -> String {
    try String(contentsOf: file(name), encoding: .utf8)
  }

  /// The metrics that a text names.
  private static func metrics(in text: String) -> Set<String> {
    Set(text.matches(of: /cktop_[a-z_]+/).map { String($0.output) })
  }

  /// The samples of a store with one change on the server and one that the server throttles: every metric has a value.
  private static func samples() async throws -> String {
    let cloud = try await Cloud(
      faults: """
        [[rules]]
        when = { operation = "records/modify", recordName = "later" }
        then = { action = "throttled", retryAfter = 900 }
        """
    )
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "now", "a=1")
    try await machine.succeed("sync")
    try await machine.succeed("records", "put", "--type", "Task", "--name", "later", "a=1")
    let sync = try await machine.run("sync")
    #expect(sync.status == 5)
    // A change waits, and no process is syncing.
    let status = try await machine.run("status", "--prometheus")
    #expect(status.status == 3)
    withExtendedLifetime(cloud) {}
    return status.lines.filter { !$0.hasPrefix("#") }.joined(separator: "\n")
  }

  @Test func `status prints every metric and label value that the alert rules and the Grafana dashboard use`()
    async throws
  {
    let (rules, dashboard) = (try Self.text(of: Self.rules), try Self.text(of: Self.dashboard))
    let samples = try await Self.samples()
    let printed = Self.metrics(in: samples)

    for (name, text) in [(Self.rules, rules), (Self.dashboard, dashboard)] {
      let used = Self.metrics(in: text)
      #expect(!used.isEmpty, "\(name)")
      #expect(used.subtracting(printed).isEmpty, "\(name)")
    }
    // A rule for a value that does not exist never fires.
    for match in rules.matches(of: /(verdict|state)=~?"([A-Za-z|]+)"/) {
      for value in match.output.2.split(separator: "|") {
        #expect(samples.contains("\(match.output.1)=\"\(value)\""), "\(match.output.0)")
      }
    }
  }

  @Test func `the Grafana dashboard has a color for every verdict`() async throws {
    let text = try Self.text(of: Self.dashboard)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let panels = try #require(object["panels"] as? [[String: Any]])
    let panel = try #require(panels.first { $0["title"] as? String == "Verdict" })
    let settings = try #require(panel["fieldConfig"] as? [String: Any])
    let overrides = try #require(settings["overrides"] as? [[String: Any]])
    let patterns = overrides.compactMap { ($0["matcher"] as? [String: Any])?["options"] as? String }
    let colored = patterns.flatMap { $0.split { !$0.isLetter }.map(String.init) }

    let samples = try await Machine().succeed("status", "--prometheus", "--container", Machine.container).output
    let verdicts = samples.matches(of: /verdict="([A-Za-z]+)"/).map { String($0.output.1) }

    #expect(!verdicts.isEmpty)
    #expect(colored.sorted() == verdicts.sorted())
  }

  @Test func `the page describes every alert, and no other`() throws {
    let rules = try Self.text(of: Self.rules)
    let page = try String(
      contentsOf: Self.file(Self.rules).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Monitoring.md"),
      encoding: .utf8
    )
    let alerts = rules.matches(of: /- alert: ([A-Za-z]+)/).map { String($0.output.1) }
    let described = page.matches(of: /\| `(Cktop[A-Za-z]+)` \|/).map { String($0.output.1) }

    #expect(!alerts.isEmpty && described == alerts)
  }

  @Test(.enabled(if: hasPromtool, "promtool is not installed"))
  func `promtool accepts the alert rules`() async throws {
    let folder = try TemporaryFolder()
    let (output, error) = (folder.path("output"), folder.path("error"))
    let process = try Child(
      try #require(Self.promtool),
      ["check", "rules", Self.file(Self.rules).path],
      environment: folder.environment,
      output: output,
      error: error
    )
    let end = await process.end()
    let complaint = try String(contentsOfFile: error, encoding: .utf8)
    #expect(end == .exited(0), "\(complaint)")
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `a completion script has the verbs`(shell: String) async throws {
    let script = try await Machine().succeed("--generate-completion-script", shell).output
    let words = Set(script.split { !$0.isLetter }.map(String.init))

    #expect(words.isSuperset(of: ["queue", "conflicts", "sync"]))
  }
}
