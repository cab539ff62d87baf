import ArgumentParser

/// Finds topics of `cktop help` that do not exist, for which the parser would show the help of `cktop` itself.
enum HelpTopic {
  /// Refuses `help NAME…` for a command that does not exist.
  static func check(_ arguments: [String], under root: any ParsableCommand.Type) throws(CommandFailure) {
    guard arguments.first == "help" else { return }
    let names = arguments.dropFirst().filter { !$0.hasPrefix("-") }
    guard names != ["help"] else { return }
    var command = root
    for name in names {
      guard let next = command.configuration.subcommands.first(where: { $0._commandName == name }) else {
        throw .usage("there is no command '\(names.joined(separator: " "))'; run cktop help to see all")
      }
      command = next
    }
  }
}
