import CloudSync
import Dashboard
import Facts
import Foundation
import TerminalUI
import TestSupport
import Testing

@testable import cktop

@Suite(.serialized) struct ThemeSettingTests {
  private static let file = "theme = \"nord\""

  @Test(arguments: [
    ([:], nil, "midnight", SettingSource.standard), ([:], file, "nord", .file("/c/config.toml line 1")),
    (["CKTOP_THEME": "paper"], nil, "paper", .environment), (["CKTOP_THEME": "paper"], file, "paper", .environment),
    (["CKTOP_THEME": ""], file, "nord", .file("/c/config.toml line 1")),
  ])
  func `the environment's theme wins over the configuration file's`(
    _ environment: [String: String],
    _ file: String?,
    _ theme: String,
    _ source: SettingSource
  ) throws {
    let configuration = try file.map { try ConfigurationFile($0, path: "/c/config.toml") }
    let settings = try Settings(
      options: [:],
      environment: environment.merging(["HOME": "/home/ada"]) { $1 },
      file: configuration
    )

    #expect(settings.theme == Sourced(theme, source))
  }

  @Test func `a command without settings of its own takes the theme from environment and file`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("config/cktop"),
      withIntermediateDirectories: true
    )
    _ = try folder.write("theme = \"gruvbox\"", to: "config/cktop/config.toml")
    let environment = folder.environment
    func theme(_ environment: [String: String], option: String? = nil) throws -> String {
      try Appearance(theme: option, environment: environment).theme.name
    }

    #expect(try theme(environment) == "gruvbox")
    #expect(try theme(environment, option: "plain") == "plain")
    #expect(try theme(environment.merging(["CKTOP_THEME": "paper"]) { $1 }) == "paper")
    #expect(try theme(["HOME": folder.path("nowhere")]) == "midnight")
  }

  @Test func `a mistake in a theme does not keep a dashboard from starting, and is shown with its line first`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("config/cktop/themes"),
      withIntermediateDirectories: true
    )
    let typo = "name = \"mine\"\nversion = 1\nbackground = \"dusk\"\n"
    _ = try folder.write(typo, to: "config/cktop/themes/mine.toml")
    _ = try folder.write(typo, to: "config/cktop/themes/midnight.toml")
    func start(_ option: String?, configured: String? = nil) throws -> Appearance {
      let own = configured.map { ["CKTOP_THEME": $0] } ?? [:]
      return try Appearance(theme: option, starts: true, environment: folder.environment.merging(own) { $1 })
    }

    for appearance in [try start("mine"), try start(nil, configured: "mine"), try start("mine", configured: "paper")] {
      #expect(appearance.theme.name == "midnight")
      let notice = try #require(appearance.notice)
      #expect(notice.prefix(80).contains("mine.toml line 3: background"))
      #expect(notice.contains("/config/cktop/themes/mine.toml"))
    }
    // The default theme's own file can be the one with the mistake.
    #expect(try start(nil).notice?.contains("midnight.toml line 3: background") == true)
    #expect(try start(nil, configured: "none").notice?.contains("none") == true)
    #expect(try start("paper").notice == nil)
    let failure = #expect(throws: CommandFailure.self) { try start("none") }
    #expect(failure?.status == .usage)
    for name in ["mine", "none"] {
      #expect(throws: CommandFailure.self) { try Appearance(theme: name, environment: folder.environment) }
    }
  }

  @Test(arguments: [("", StoreStatus.standardFreshness), ("stale-after = \"2s\"", 2000)])
  func `what Ctrl-R reads has the age at which a full sync no longer counts`(_ line: String, _ age: Int64) throws {
    let file = try ConfigurationFile(line, path: "/c/config.toml")
    let environment = ["HOME": "/home/ada"]
    let settings = try Settings(options: [:], environment: environment, file: file)

    #expect(try Appearance(settings, file, environment: environment).preferences.freshFor == age)
  }

  @Test func `the theme after the last one is the first`() throws {
    let names = Theme.builtInNames
    for (name, next) in zip(names, names.dropFirst() + names.prefix(1)) {
      #expect(OwnThemes().next(after: name).theme?.name == next)
    }
  }

  @Test func `a copy of a theme goes by the name of its file, and the ones after it are reached`() throws {
    let folder = try TemporaryFolder()
    let own = folder.url.appending(path: "config/cktop/themes")
    try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
    let copy = "name = \"midnight\"\nbackground = \"dark\"\n"
    try Data(copy.utf8).write(to: own.appending(path: "mine.toml"))
    let themes = OwnThemes(folder.environment)

    #expect(themes.next(after: "midnight").theme?.name == "mine")
    #expect(themes.next(after: "mine").theme?.name == "okabe")
  }

  @Test func `a theme as it is shown can be the file of another`() async throws {
    let shown = try await Machine([:]).succeed("themes", "show", "midnight").output

    #expect(try Theme.parse(shown, source: "mine.toml") == Theme.load(named: "midnight", directories: []))
  }

  @Test func `the theme that was chosen last is used where nothing else names one`() throws {
    let folder = try TemporaryFolder()
    func start(_ option: String?, configured: String? = nil) throws -> String {
      let own = configured.map { ["CKTOP_THEME": $0] } ?? [:]
      let environment = folder.environment.merging(own) { $1 }
      return try Appearance(theme: option, starts: true, environment: environment).theme.name
    }
    #expect(try start(nil) == "midnight")
    OwnThemes(folder.environment).remember("gruvbox")
    #expect(try start(nil) == "gruvbox")
    #expect(try start(nil, configured: "paper") == "paper")
    #expect(try start("paper") == "paper")
    OwnThemes(folder.environment).remember("gone")
    #expect(try start(nil) == "midnight")
  }

  @Test func `config check shows where the theme comes from`() async throws {
    let machine = try Machine(["CKTOP_THEME": "paper", "CLOUDKIT_CONTAINER": Machine.container])

    let lines = try await machine.succeed("config", "check", "--json").objects()

    let theme = try #require(lines.first { $0["setting"] as? String == "theme" })
    #expect(theme["value"] as? String == "paper" && theme["source"] as? String == "CKTOP_THEME")
  }

  @Test func `config check shows the remembered theme, the dashboard's settings and the proxy`() async throws {
    let machine = try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "https_proxy": "proxy.example.org:3128",
    ])
    try FileManager.default.createDirectory(
      atPath: machine.folder.path("config/cktop"),
      withIntermediateDirectories: true
    )
    _ = try machine.folder.write("[dashboard]\nmouse = false", to: "config/cktop/config.toml")
    OwnThemes(machine.environment).remember("paper")

    let lines = try await machine.succeed("config", "check", "--json").objects()
    let text = try await machine.succeed("config", "check").lines.map { $0.split(separator: " ").map(String.init) }

    func line(_ setting: String) throws -> (value: String?, source: String?) {
      let line = try #require(lines.first { $0["setting"] as? String == setting })
      let source = try #require(line["source"] as? String)
      let words = try #require(text.first { $0.first == setting })
      #expect(Array(words.dropFirst(2)) == source.split(separator: " ").map(String.init))
      return (line["value"] as? String, source)
    }
    #expect(try line("theme") == ("paper", "chosen in the dashboard, \(machine.folder.path("state/cktop/theme"))"))
    #expect(
      try line("dashboard.mouse") == ("false", "dashboard.mouse in \(machine.folder.path("config/cktop/config.toml"))")
    )
    #expect(try line("dashboard.view") == ("overview", "default"))
    #expect(try line("proxy") == ("proxy.example.org:3128", "https_proxy"))
  }
}
