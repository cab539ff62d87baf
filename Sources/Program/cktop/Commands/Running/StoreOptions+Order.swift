extension StoreOptions {
  private static let flags = Set(SettingKey.allCases.filter { $0.row.kind == .flag }.compactMap(\.option))
  private static let named = Set(SettingKey.allCases.filter { $0 != .theme }.compactMap(\.option)).subtracting(flags)

  /// Moves the store's options after the verb, where the parser expects them, as in `cktop --store FILE status`.
  ///
  /// They go before the verb's own options, so that the later of two still wins.
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
    // Without a verb, the options belong to the dashboard and need not move.
    guard end > arguments.startIndex, let verb = rest.first, !verb.hasPrefix("-") else { return arguments }
    let words = rest.prefix { !$0.hasPrefix("-") }
    return Array(words) + arguments[..<end] + rest.dropFirst(words.count)
  }
}
