extension StoreOptions {
  private static let flags: Set<String> = ["--read-only"]
  private static let named: Set<String> = [
    "--store", "--profile", "--container", "--environment", "--database", "--url", "--policy",
  ]

  /// The arguments with the store's options behind the verb, where the parser looks for them: people also write them in
  /// front, as in `cktop --store FILE status`.
  ///
  /// They come before the verb's own options, so that of two the later still counts.
  static func afterVerb(_ arguments: [String]) -> [String] {
    var end = arguments.startIndex
    while end < arguments.endIndex {
      let name = arguments[end].split(separator: "=", maxSplits: 1).first.map(String.init) ?? ""
      if flags.contains(arguments[end]) || (named.contains(name) && arguments[end].contains("=")) {
        end += 1
      } else if named.contains(arguments[end]), end + 1 < arguments.endIndex {
        end += 2
      } else {
        break
      }
    }
    let rest = arguments[end...]
    // Without a verb behind them they belong to the dashboard, which is found as it stands.
    guard end > arguments.startIndex, let verb = rest.first, !verb.hasPrefix("-") else { return arguments }
    let words = rest.prefix { !$0.hasPrefix("-") }
    return Array(words) + arguments[..<end] + rest.dropFirst(words.count)
  }
}
