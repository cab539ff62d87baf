import Facts

/// Finds options without a value before the arguments are parsed.
///
/// The parser would take the next argument as the value of `--name=`, and would accept an empty value.
enum EmptyValues {
  /// Refuses `--option=` and `--option ""` for every verb. Positional arguments may end in `=`, such as `FIELD=`, which
  /// clears a field. Everything after `--` is positional.
  static func refuse(in arguments: [String]) throws(CommandFailure) {
    guard let option = option(in: arguments) else { return }
    throw .usage("\(option) is empty; give a value or omit it")
  }

  /// The name of the first option without a value; nil if there is none.
  static func option(in arguments: [String]) -> String? {
    var previous: String?
    for argument in arguments {
      if argument == "--" { return nil }
      if argument.isEmpty, let previous { return previous }
      previous = nil
      guard argument.hasPrefix("-"), argument != "-" else { continue }
      guard let sign = argument.firstIndex(of: "=") else {
        previous = argument
        continue
      }
      if argument.index(after: sign) == argument.endIndex { return String(argument[..<sign]) }
    }
    return nil
  }
}
