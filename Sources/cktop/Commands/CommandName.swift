import ArgumentParser

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
      if let near = nearest(to: name, among: names) {
        let command = ((isHelp ? ["help"] : []) + path + [near]).joined(separator: " ")
        throw .usage("there is no command '\(wanted)'; did you mean cktop \(command)?")
      }
      guard isHelp else { return }
      throw .usage("there is no command '\(wanted)'; run cktop help to see all")
    }
  }

  /// Returns the name that was probably meant: one letter differs, or two in a long name; nil if there is none.
  static func nearest(to name: String, among names: [String]) -> String? {
    let limit = name.count > 5 ? 2 : 1
    let distances = names.map { (name: $0, distance: distance(name, $0)) }
    return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.name
  }

  /// Returns the number of letters that were added, left out, replaced or swapped with the next between two names.
  private static func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first), Array(second))
    var rows = [Array(0...second.count)]
    for (place, letter) in first.enumerated() {
      var row = [place + 1]
      for (other, otherLetter) in second.enumerated() {
        let replaced = rows[place][other] + (letter == otherLetter ? 0 : 1)
        row.append(min(replaced, rows[place][other + 1] + 1, row[other] + 1))
        if place > 0, other > 0, letter == second[other - 1], first[place - 1] == otherLetter {
          row[other + 1] = min(row[other + 1], rows[place - 1][other - 1] + 1)
        }
      }
      rows.append(row)
    }
    return rows[first.count][second.count]
  }
}
