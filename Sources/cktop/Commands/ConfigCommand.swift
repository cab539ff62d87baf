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
    let route = ProxySettings(environment: ProcessInfo.processInfo.environment).route(to: session.settings.url.value)
    if json {
      OutputStream.standard.lines(
        session.settings.report.map { line in
          let object: JSONObject = [
            "setting": .text(line.key.rawValue), "value": .optional(line.value), "source": .text(line.source),
          ]
          return object.line
        }
      )
      let proxy: JSONObject = [
        "setting": .text("proxy"), "value": .text(Self.text(route)), "source": .text("environment"),
      ]
      OutputStream.standard.line(proxy.line)
    } else {
      var table = TextTable(["SETTING", "VALUE", "FROM"])
      for line in session.settings.report { table.append([line.key.rawValue, line.value ?? "", line.source]) }
      table.append(["proxy", Self.text(route), route == .direct ? "default" : "HTTPS_PROXY"])
      OutputStream.standard.lines(table.lines())
    }
    if case .unusable(let reason) = route { throw CommandFailure.usage("\(reason); correct the variable or unset it") }
    _ = try session.settings.policy()
    _ = try Appearance(theme: session.settings.theme?.value, session.configurationFile)
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
