import ArgumentParser
import CloudKit
import CloudSync
import Facts
import Foundation
import TestSupport
import Testing

@testable import cktop

@Suite(.serialized) struct SettingsTests {
  private static let path = "/home/ada/.config/cktop/config.toml"

  private func settings(
    _ options: [String] = [],
    _ environment: [String: String] = [:],
    file: String? = nil
  ) throws -> Settings {
    let configuration = try file.map { try ConfigurationFile($0, path: Self.path) }
    let options = try StoreOptions.parse(options).settings
    let environment = environment.merging(["HOME": "/home/ada"]) { $1 }
    return try Settings(options: options, environment: environment, file: configuration)
  }

  private func failure(_ body: () throws -> Settings) -> CommandFailure? {
    let failure = #expect(throws: CommandFailure.self) { _ = try body() }
    #expect(failure?.status == .usage)
    return failure
  }

  @Test(arguments: SettingKey.allCases.filter { $0.option != nil && $0 != .theme })
  func `an option gives the setting of its name`(_ key: SettingKey) throws {
    let isFlag = key.row.kind == .flag
    let given = try StoreOptions.parse([#require(key.option)] + (isFlag ? [] : ["a"])).settings
    #expect(given == [key: isFlag ? "true" : "a"])
  }

  @Test func `the options given are words of a command line that means the same store`() throws {
    let options = try StoreOptions.parse(["--store", "a b", "--read-only", "--profile", "prod"])
    #expect(options.words == "--profile prod --store 'a b' --read-only")
    #expect(try StoreOptions.parse([]).words.isEmpty)
  }

  @Test func `with nothing configured the defaults stand and no store is named`() throws {
    let settings = try settings()

    #expect(settings.container == nil)
    #expect(settings.store == nil)
    #expect(!settings.isConfigured)
    #expect(settings.environment == Sourced(.development, .standard))
    #expect(settings.database == Sourced(.public, .standard))
    #expect(settings.url.value.absoluteString == "https://api.apple-cloudkit.com")
    #expect(try settings.policy() == nil)
    #expect(settings.isReadOnly == Sourced(false, .standard))
    #expect(settings.theme == Sourced("midnight", .standard))
    #expect(try settings.credential() == .none)
    let failure = #expect(throws: CommandFailure.self) { try settings.requiredContainer() }
    #expect(failure?.message.contains("cktop demo") == true)
  }

  @Test func `option, environment, profile, file: the first that has a value wins`() throws {
    let file = """
      container = "top"
      policy = "client"
      [profiles.live]
      container = "profile"
      """

    let all = try settings(["--container", "option", "--profile", "live"], ["CLOUDKIT_CONTAINER": "env"], file: file)
    let environment = try settings(["--profile", "live"], ["CLOUDKIT_CONTAINER": "env"], file: file)
    let profile = try settings([], ["CKTOP_PROFILE": "live", "CLOUDKIT_CONTAINER": ""], file: file)
    let top = try settings(file: file)

    #expect(all.container == Sourced("option", .option))
    #expect(environment.container == Sourced("env", .environment))
    #expect(profile.container == Sourced("profile", .profile("live", file: Self.path + " line 4")))
    #expect(profile.profile == Sourced("live", .environment))
    #expect(try profile.policy() == Sourced(.client, .file(Self.path + " line 2")))
    #expect(top.container == Sourced("top", .file(Self.path + " line 1")))
    #expect(top.profile == nil)
  }

  @Test func `every option, every variable and every key reaches its setting`() throws {
    let options = try settings([
      "--store", "s", "--container", "c", "--environment", "production", "--database", "shared", "--url",
      "http://localhost:1", "--policy", "newest", "--read-only", "--allow-http",
      "--unicode-names",
    ])
    let environment = try settings(
      [],
      [
        "CKTOP_STORE": "s", "CLOUDKIT_CONTAINER": "c", "CLOUDKIT_ENVIRONMENT": "production",
        "CLOUDKIT_DATABASE": "shared",
        "CLOUDKIT_URL": "http://localhost:1", "CKTOP_POLICY": "newest", "CKTOP_READ_ONLY": "1",
        "CKTOP_ALLOW_HTTP": "true", "CKTOP_UNICODE_NAMES": "yes", "CLOUDKIT_KEY_ID": "k",
        "CLOUDKIT_KEY_FILE": "f", "CLOUDKIT_API_TOKEN": "a\n", "CLOUDKIT_WEB_AUTH_TOKEN": "w",
      ]
    )
    let file = try settings(
      file: """
        profile = "p"
        environment = "development"
        [profiles.p]
        store = "s"
        container = "c"
        environment = "production"
        database = "shared"
        url = "http://localhost:1"
        policy = "newest"
        read-only = true
        allow-http = true
        unicode-names = true
        theme = "dusk"
        key-id = "k"
        key-file = "~/key.pem"
        """
    )

    for settings in [options, environment, file] {
      #expect(settings.container?.value == "c")
      #expect(settings.environment.value == .production)
      #expect(settings.database.value == .shared)
      #expect(settings.url.value.absoluteString == "http://localhost:1")
      #expect(try settings.policy()?.value == .newest)
      #expect(settings.isReadOnly.value && settings.allowsHTTP && settings.acceptsUnicodeNames)
    }
    #expect(options.store?.value == "s")
    #expect(environment.store?.value == "s")
    #expect(file.store?.value == "/home/ada/.config/cktop/s")
    #expect(file.keyFile?.value == "/home/ada/key.pem")
    #expect(file.theme.value == "dusk")
    #expect(environment.apiToken?.value == "a")
  }

  @Test(arguments: ["~/a.sqlite", "~"])
  func `the home folder is the same wherever a path is given`(_ path: String) throws {
    let found = [
      try settings(["--store", path]), try settings([], ["CKTOP_STORE": path]),
      try settings(file: "store = \"\(path)\""),
      try settings(file: "profile = \"p\"\n[profiles.p]\nstore = \"\(path)\""),
    ]

    #expect(found.map { $0.store?.value } == Array(repeating: "/home/ada" + path.dropFirst(), count: 4))
    #expect(try settings(["--store", "./~/a$b"]).store?.value == "./~/a$b")
    #expect(try settings(file: "store = \"$1.sqlite\"").store?.value == "/home/ada/.config/cktop/$1.sqlite")
  }

  private static let stores: [([String: String], String)] = [
    ([:], "/home/ada/.local/state/cktop/iCloud.a.development.public.sqlite"),
    (["XDG_STATE_HOME": "/state"], "/state/cktop/iCloud.a.development.public.sqlite"),
    (["XDG_STATE_HOME": "relative"], "/home/ada/.local/state/cktop/iCloud.a.development.public.sqlite"),
    (["XDG_STATE_HOME": ""], "/home/ada/.local/state/cktop/iCloud.a.development.public.sqlite"),
    (
      ["CLOUDKIT_WEB_AUTH_TOKEN": "w", "CLOUDKIT_ENVIRONMENT": "production"],
      "/home/ada/.local/state/cktop/iCloud.a.production.private.sqlite"
    ),
    (
      ["CLOUDKIT_WEB_AUTH_TOKEN": "w", "CLOUDKIT_KEY_ID": "k"],
      "/home/ada/.local/state/cktop/iCloud.a.development.public.sqlite"
    ),
  ]

  @Test(arguments: stores) func `a store has its place by container, environment and database`(
    _ environment: [String: String],
    _ store: String
  ) throws {
    #expect(try settings(["--container", "iCloud.a"], environment).store == Sourced(store, .standard))
  }

  private static func fileName(_ container: String) -> String {
    StorePath.name(SyncStore.Scope(container: container, environment: "development", database: .public))
  }

  private static let names: [(String, String)] = [
    ("iCloud.org.example.App", "iCloud.org.example.App"), ("../../etc/passwd", "%2E./..%2Fetc"), ("..", "%2E."),
    ("a%2Fb", "a%252Fb"), ("a\n", "a%0A"), ("é", "%C3%A9"),
  ]

  @Test(arguments: names) func `no container leaves the directory or shares a file`(_ container: String, _: String) {
    let name = Self.fileName(container)

    #expect(!name.contains("/") && !name.hasPrefix(".") && name.hasSuffix(".development.public.sqlite"))
    #expect(name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
  }

  @Test func `different containers have different files`() {
    let containers = ["a/b", "a%2Fb", "a_b", "a.b", ".a", "%2Ea", "é", "e\u{301}"]

    #expect(Set(containers.map(Self.fileName)).count == containers.count)
  }

  private static let mistakes: [([String], [String: String], String?, String)] = [
    (["--environment", "prod"], [:], nil, "--environment is 'prod'; use development or production"),
    ([], ["CLOUDKIT_DATABASE": "Public"], nil, "CLOUDKIT_DATABASE is 'Public'; use public, private or shared"),
    (
      [], [:], "policy = \"mine\"",
      "policy in \(path) line 1 is 'mine'; use server, client, newest or manual"
    ),
    (
      ["--profile", "a"], [:], "[profiles.a]\npolicy = \"mine\"",
      "profiles.a.policy in \(path) line 2 is 'mine'; use server, client, newest or manual"
    ),
    ([], ["CKTOP_READ_ONLY": "maybe"], nil, "CKTOP_READ_ONLY is 'maybe'; use 1, 0, true or false"),
    (["--container", ""], [:], nil, "--container is empty; give a value or omit it"),
    (["--container", "a b"], [:], nil, "--container is not a container ID; use one such as iCloud.org.example.App"),
    (["--container", "a/b"], [:], nil, "--container is not a container ID; use one such as iCloud.org.example.App"),
    (["--url", "localhost:8080"], [:], nil, "--url is not a URL; use one that begins with https:// or http://"),
    (["--url", "ftp://x"], [:], nil, "--url is not a URL; use one that begins with https:// or http://"),
    (["--url", "http://"], [:], nil, "--url is not a URL; use one that begins with https:// or http://"),
    (
      [], ["CLOUDKIT_URL": "https://u:geheim@x"], nil,
      "CLOUDKIT_URL contains a user or password; put credentials in the environment"
    ),
    (
      ["--url", "https://x?token=1"], [:], nil,
      "--url has a path, a query or a fragment; give only scheme, host and port"
    ),
    (
      [], ["CLOUDKIT_URL": "https://x/cloud"], nil,
      "CLOUDKIT_URL has a path, a query or a fragment; give only scheme, host and port"
    ),
    (["--profile", "x"], [:], nil, "--profile: there is no profile 'x'; \(path) has no [profiles.NAME]"),
    (
      [], ["CKTOP_PROFILE": "x"], "[profiles.b]\n[profiles.a]",
      "CKTOP_PROFILE: there is no profile 'x'; the profiles are a, b"
    ),
    (
      [], [:], "containre = \"x\"",
      "\(path) line 1: there is no setting 'containre'; did you mean container?"
    ),
    (
      [], [:], "\n\ncolour = \"x\"",
      "\(path) line 3: there is no setting 'colour'; the settings are profile, container, environment, database, url, "
        + "store, policy, read-only, allow-http, unicode-names, theme, stale-after, key-id, key-file, [profiles.NAME] "
        + "and [dashboard]"
    ),
    (
      [], [:], "[profiles.a]\nkeyid = \"x\"",
      "\(path) line 2: there is no setting 'profiles.a.keyid'; did you mean key-id?"
    ),
    (
      [], [:], "container = \"store\"\nstore = \"$HOME/b.sqlite\"",
      "store in \(path) line 2: variables such as $HOME are not replaced; write ~/ for the home folder, or the whole path"
    ),
    (
      ["--store", "/srv/${USER}/b.sqlite"], [:], nil,
      "--store: variables such as $HOME are not replaced; write ~/ for the home folder, or the whole path"
    ),
    (
      [], ["CKTOP_STORE": "~nobody/b.sqlite"], nil,
      "CKTOP_STORE: ~nobody is not replaced by a home folder; write ~/ for your own, or the whole path"
    ),
    (
      [], [:], "api-token = \"geheim\"",
      "\(path) line 1: api-token does not belong in a file; set CLOUDKIT_API_TOKEN in the environment"
    ),
    ([], [:], "container = 3", "\(path) line 1: container must be a string in quotes"),
    ([], [:], "read-only = \"yes\"", "\(path) line 1: read-only must be true or false, without quotes"),
    ([], [:], "profiles = 3", "\(path) line 1: profiles is not a table; write [profiles.NAME]"),
    ([], [:], "[profiles]\na = 3", "\(path) line 2: profiles.a is not a table; write [profiles.a]"),
    (
      [], [:], "[profiles.a]\nprofile = \"b\"",
      "\(path) line 2: profiles.a names a profile; only the top level of the file may"
    ),
    ([], [:], "a\0b", "\(path) line 1: contains a NUL character; remove it"),
    ([], [:], "\n\ntheme = mine", "\(path) line 3: put the text in quotes: theme = \"mine\""),
    (
      [], [:], "[profiles.a]\nurl = http://x # old",
      "\(path) line 2: put the text in quotes: url = \"http://x\""
    ),
    (
      [], [:], "api-token = geheim",
      "\(path) line 1: api-token does not belong in a file; set CLOUDKIT_API_TOKEN in the environment"
    ),
    ([], [:], "read-only = flase", "\(path) line 1: read-only must be true or false, without quotes"),
    ([], [:], "api-tokn = geheim", "\(path) line 1: put the text in quotes: api-tokn = \"…\""),
  ]

  @Test(arguments: mistakes)
  func `a wrong setting names its source and the choices`(
    _ options: [String],
    _ environment: [String: String],
    _ file: String?,
    _ message: String
  ) {
    let failure = failure {
      let settings = try settings(options, environment, file: file)
      _ = try settings.policy()
      return settings
    }

    #expect(failure?.message == message)
    #expect(failure?.message.contains("geheim") == false)
  }

  @Test func `broken TOML is one line with its place`() {
    let failure = failure { try settings(file: "container = \"a\"\npolicy = = 3\n") }

    #expect(failure?.line.hasPrefix("cktop: \(Self.path) line 2, column ") == true)
    #expect(failure?.line.contains("\n") == false)
  }

  @Test(arguments: [
    ([] as [String], DatabaseName.public), (["private"], .private), (["public"], .public),
    (["private", "public"], .public),
  ])
  func `without a key and a web auth token the database is the one that has a store here`(
    _ stores: [String],
    _ database: DatabaseName
  ) throws {
    let folder = try TemporaryFolder()
    let given = ["XDG_STATE_HOME": folder.path("state"), "CLOUDKIT_CONTAINER": "c", "CLOUDKIT_API_TOKEN": "a"]
    try FileManager.default.createDirectory(atPath: folder.path("state/cktop"), withIntermediateDirectories: true)
    for name in stores {
      #expect(
        FileManager.default.createFile(atPath: folder.path("state/cktop/c.development.\(name).sqlite"), contents: nil)
      )
    }

    #expect(try settings([], given).database == Sourced(database, .standard))
    #expect(try settings(["--database", "shared"], given).database.value == .shared)
    #expect(try settings(["--store", "new.sqlite"], given).database.value == .public)
    let signedIn = given.merging(["CLOUDKIT_WEB_AUTH_TOKEN": "w"]) { $1 }
    #expect(try settings([], signedIn).database.value == .private)
  }

  private static let credentials: [([String: String], [String], SettingCredential)] = [
    (["CLOUDKIT_KEY_ID": "k", "CLOUDKIT_KEY_FILE": "f"], [], .serverToServer(keyID: "k", keyFile: "f")),
    (
      ["CLOUDKIT_API_TOKEN": "a", "CLOUDKIT_WEB_AUTH_TOKEN": "w"], [],
      .webAuth(apiToken: "a", webAuthToken: "w")
    ),
    (["CLOUDKIT_API_TOKEN": "a"], [], .apiToken("a")),
    (
      ["CLOUDKIT_KEY_ID": "k", "CLOUDKIT_KEY_FILE": "f", "CLOUDKIT_API_TOKEN": "a", "CLOUDKIT_WEB_AUTH_TOKEN": "w"],
      [], .serverToServer(keyID: "k", keyFile: "f")
    ),
    (
      ["CLOUDKIT_KEY_ID": "k", "CLOUDKIT_KEY_FILE": "f", "CLOUDKIT_API_TOKEN": "a", "CLOUDKIT_WEB_AUTH_TOKEN": "w"],
      ["--database", "private"], .webAuth(apiToken: "a", webAuthToken: "w")
    ),
  ]

  @Test(arguments: credentials) func `the credential fits the database`(
    _ environment: [String: String],
    _ options: [String],
    _ credential: SettingCredential
  ) throws {
    #expect(try settings(options, environment).credential() == credential)
  }

  @Test(arguments: [
    ["CLOUDKIT_KEY_ID": "k"], ["CLOUDKIT_KEY_FILE": "f"], ["CLOUDKIT_WEB_AUTH_TOKEN": "w"],
  ])
  func `half a credential says what is missing, and only when one is needed`(_ environment: [String: String]) throws {
    let settings = try settings([], environment)

    let failure = #expect(throws: CommandFailure.self) { try settings.credential() }
    #expect(failure?.message.contains("; set CLOUDKIT_") == true)
  }

  @Test func `the report names values and sources and masks secrets`() throws {
    let report = try settings(
      ["--container", "c"],
      ["CLOUDKIT_API_TOKEN": "geheim", "CLOUDKIT_WEB_AUTH_TOKEN": "topsecret"],
      file: "theme = \"dusk\""
    ).report

    #expect(report.map(\.setting) == SettingKey.allCases.map(\.rawValue))
    #expect(report.map { $0.value ?? "-" }.joined(separator: " ").contains("geheim") == false)
    #expect(report.contains(SettingLine(setting: "container", value: "c", source: "--container")))
    #expect(report.contains(SettingLine(setting: "policy", value: nil, source: "not set")))
    #expect(report.contains(SettingLine(setting: "theme", value: "dusk", source: "theme in \(Self.path) line 1")))
    #expect(report.contains(SettingLine(setting: "api-token", value: "********", source: "CLOUDKIT_API_TOKEN")))
    #expect(
      report.contains(SettingLine(setting: "web-auth-token", value: "********", source: "CLOUDKIT_WEB_AUTH_TOKEN"))
    )
    #expect(report.contains(SettingLine(setting: "key-id", value: nil, source: "not set")))
  }

  @Test func `a configuration file that may not be looked for is not taken for a missing one`() throws {
    let folder = try TemporaryFolder()
    let environment = ["XDG_CONFIG_HOME": folder.path("config"), "HOME": folder.path("home")]
    #expect(try ConfigurationFile.read(environment) == nil)
    let path = ConfigurationFile.path(environment)
    try FileManager.default.createDirectory(atPath: folder.path("config/cktop"), withIntermediateDirectories: true)
    // Root may enter every folder, but nobody follows a link to itself.
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)

    let failure = #expect(throws: CommandFailure.self) { try ConfigurationFile.read(environment) }

    #expect(failure?.status == .usage && failure?.message.hasPrefix("\(path) cannot be read: ") == true)
  }

  @Test func `the configuration file lies where XDG says`() {
    let path = ConfigurationFile.path

    #expect(path(["XDG_CONFIG_HOME": "/c", "HOME": "/h"]) == "/c/cktop/config.toml")
    #expect(path(["XDG_CONFIG_HOME": "c", "HOME": "/h"]) == "/h/.config/cktop/config.toml")
    #expect(path(["HOME": "/h"]) == "/h/.config/cktop/config.toml")
  }
}
