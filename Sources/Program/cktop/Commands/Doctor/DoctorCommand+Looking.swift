import CloudSync
import Doctor
import Facts
import Foundation
import Terminal
import TerminalUI

extension ConfigurationObservation {
  /// Reads the settings of a session.
  init(of session: Session) {
    let given = session.settingLines.filter { $0.value != nil && $0.source != "default" }
    self.init(settings: given.map { Setting($0.setting, source: $0.source) })
    func note(_ body: () throws -> Void) {
      do { try body() } catch { failures.append(CommandFailure(error) ?? CommandFailure("\(error)", .usage)) }
    }
    note { _ = try session.scope() }
    note { _ = try session.settings.policy() }
    note { _ = try Appearance(session.settings, session.settings.file) }
  }
}

extension MachineObservation {
  /// Looks at this machine and its terminal.
  init(of holder: ProcessFacts?) {
    let found = TerminalScreen.examine()
    let environment = ProcessInfo.processInfo.environment
    var screen: Screen?
    if isatty(STDIN_FILENO) == 1, let size = OutputFile.standard.size {
      screen = Screen(
        term: environment["TERM"] ?? "",
        columns: size.width,
        rows: size.height,
        problem: found.error?.description,
        isUTF8: !found.isASCII,
        colors: found.colors,
        isMonochrome: environment.isMonochrome
      )
    }
    self.init(of: holder, screen: screen, libraries: [found.version])
  }
}
