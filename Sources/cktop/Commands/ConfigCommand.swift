import ArgumentParser
import CloudKit
import Foundation
import JSONText

/// `cktop config`.
struct ConfigCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Check the settings.",
    subcommands: [ConfigCheck.self],
    defaultSubcommand: ConfigCheck.self
  )
}

/// `cktop config check`.
struct ConfigCheck: Verb {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Show the settings in effect and where each comes from, secrets masked.",
    discussion: "Does not contact the server. A credential that cannot be used is an error."
  )

  @Flag(help: "Print one JSON object per line.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let proxies = ProxySettings(environment: ProcessInfo.processInfo.environment)
    let route = proxies.route(to: session.settings.url.value)
    let source = route == .direct ? nil : proxies.variable
    var lines = session.settings.report
    // Its mistakes are reported below.
    if let table = try? session.configurationFile?.dashboard() ?? DashboardTable() {
      lines += table.report(session.configurationFile?.path ?? "")
    }
    lines.append(SettingLine(setting: "proxy", value: Self.text(route), source: source ?? "default"))
    if json {
      for line in lines {
        let object: JSONObject = [
          "setting": .text(line.setting), "value": .optional(line.value), "source": .text(line.source),
        ]
        OutputStream.standard.line(object.line)
      }
    } else {
      var table = TextTable(["SETTING", "VALUE", "FROM"])
      for line in lines { table.append([line.setting, line.value ?? "", line.source]) }
      OutputStream.standard.lines(table.lines())
    }
    if case .unusable(let reason) = route { throw CommandFailure.usage("\(reason); correct the variable or unset it") }
    _ = try session.settings.policy()
    _ = try Appearance(session.settings.theme, session.configurationFile)
    // A key file is checked only when it is opened.
    if session.settings.isConfigured, try session.credentialName() != nil { _ = try session.client(session.scope()) }
  }

  private static func text(_ route: ProxySettings.Route) -> String {
    switch route {
    case .direct: "none"
    case .proxy(let proxy): "\(proxy)"
    case .unusable(let reason): reason
    }
  }
}
