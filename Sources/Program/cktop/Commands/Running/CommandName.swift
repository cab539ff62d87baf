import ArgumentParser
import Facts

/// Finds names of commands that do not exist, for which the parser would show the help of `cktop` itself, or call them
/// unexpected arguments of the dashboard.
enum CommandName {
  /// Refuses `help NAME…` for a command that does not exist, and a name that is nearly one of a command.
  static func check(_ arguments: [String], under root: any ParsableCommand.Type) throws(CommandFailure) {
    let isHelp = arguments.first == "help"
    var command = root
    var path: [String] = []
    for name in isHelp ? arguments.dropFirst().filter({ !$0.hasPrefix("-") }) : arguments {
      // After an option comes what only the parser can read, and after the last command come its arguments.
      let commands = command.configuration.subcommands
      if !isHelp, name.hasPrefix("-") || commands.isEmpty { return }
      if let next = commands.first(where: { $0._commandName == name }) {
        (command, path) = (next, path + [name])
        continue
      }
      if path.isEmpty, name == "help" { return }
      let names = commands.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
      let wanted = (path + [name]).joined(separator: " ")
      if let near = Words.nearest(to: name, among: names).map({ [$0] }) ?? inGroup(name, commands) {
        let command = ((isHelp ? ["help"] : []) + path + near).joined(separator: " ")
        throw .usage("there is no command '\(wanted.excerpt)'; did you mean cktop \(command)?")
      }
      // The dashboard, which is meant without a command, takes no arguments.
      guard isHelp || path.isEmpty else { return }
      throw .usage("there is no command '\(wanted.excerpt)'; run cktop help to see all")
    }
  }

  /// Says that a line that was rejected has an option that its command does not have; nil if it has none. The parser
  /// offers options with little in common, and takes the option's value for the command's argument.
  static func unknownOption(in arguments: [String], under root: any ParsableCommand.Type) -> String? {
    var command = arguments.reduce(root) { command, name in
      command.configuration.subcommands.first { $0._commandName == name } ?? command
    }
    while let standard = command.configuration.defaultSubcommand { command = standard }
    let known = command.helpMessage(includeHidden: true).matches(of: /--[a-z][a-z-]*/).map { String($0.output) }
    let given = arguments.prefix { $0 != "--" }.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
    guard let option = given.first(where: { !known.contains($0) }) else { return nil }
    let near = Words.nearest(to: option, among: known)
    return "there is no option '\(option.excerpt)'" + (near.map { "; did you mean \($0)?" } ?? "")
  }

  /// The first command of a group with this name, after the group; nil if there is none.
  private static func inGroup(_ name: String, _ groups: [any ParsableCommand.Type]) -> [String]? {
    let group = groups.first { $0.configuration.subcommands.contains { $0._commandName == name } }
    return group.map { [$0._commandName, name] }
  }
}
