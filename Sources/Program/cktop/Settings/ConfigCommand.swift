import ArgumentParser
import CloudKit
import CloudSync
import Facts
import Foundation

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

  @Flag(help: .json("Print one JSON object per line.", SettingLine.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let lines = session.settingLines
    if json {
      OutputFile.standard.lines(lines.map(\.json.line))
    } else {
      var table = TextTable(["SETTING", "VALUE", "FROM"])
      for line in lines { table.append([line.setting, line.value ?? "", line.source]) }
      OutputFile.standard.lines(table.lines())
    }
    if case .unusable(let reason) = session.route {
      throw CommandFailure.usage("\(reason); correct the variable or unset it")
    }
    _ = try session.settings.policy()
    _ = try Appearance(session.settings, session.settings.file)
    // A key file is checked only when it is opened.
    if session.settings.isConfigured, try session.credentialName() != nil { _ = try session.client(session.scope()) }
  }
}

extension SettingLine: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "setting": .text(\.setting), "value": .text(\.value), "source": .text(\.source),
  ]
}

extension Session {
  /// The settings in effect and where each comes from, secrets masked.
  var settingLines: [SettingLine] {
    let route = route
    let source = route == .direct ? nil : proxies.variable
    var lines = settings.report
    // Its mistakes are reported by themselves.
    if let table = try? settings.file?.dashboard() ?? DashboardTable() {
      lines += table.report(settings.file?.path ?? "")
    }
    return lines + [SettingLine(setting: "proxy", value: route.text, source: source ?? "default")]
  }
}

extension ProxySettings.Route {
  fileprivate var text: String {
    switch self {
    case .direct: "none"
    case .proxy(let proxy): "\(proxy)"
    case .unusable(let reason): reason
    }
  }
}
