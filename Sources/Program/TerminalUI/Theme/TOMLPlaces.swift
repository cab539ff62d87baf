/// The lines of the keys of a TOML text, which the parser does not keep for values that it could read.
package struct TOMLPlaces {
  private var lines: [[String]: Int] = [:]

  package init(_ text: String) {
    var table: [String] = []
    // By bytes: to Swift, CR LF is one character, and another than LF.
    for (index, line) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      // Longer lines are skipped: no person writes them, and the patterns would be slow on them.
      guard line.count < 1000 else { continue }
      let code = Substring(line).drop(while: \.isWhitespace)
      if code.hasPrefix("[") {
        table = Self.names(in: code.drop { $0 == "[" }.prefix { $0 != "]" })
        add(table, index + 1)
      } else if let head = code.prefixMatch(of: /(?:"[^"]*"|'[^']*'|[^"'=#])+=/) {
        let key = table + Self.names(in: head.output.dropLast())
        add(key, index + 1)
        // The keys of an inline table.
        let values = code[head.range.upperBound...].replacing(/"[^"]*"|'[^']*'/, with: "").prefix { $0 != "#" }
        guard values.contains("{") else { continue }
        for match in values.matches(of: /([\w.-]+)\s*=/) { add(key + Self.names(in: match.1), index + 1) }
      }
    }
  }

  /// The line of a key, from 1, or of the last of its tables that is found; nil if none is.
  package func line(of path: [String]) -> Int? {
    var path = path
    while !path.isEmpty {
      if let line = lines[path] { return line }
      path.removeLast()
    }
    return nil
  }

  private mutating func add(_ key: [String], _ line: Int) {
    for length in 0...key.count {
      let part = Array(key.prefix(length))
      if lines[part] == nil { lines[part] = line }
    }
  }

  /// The parts of a key, such as `profiles."my.app"`.
  private static func names(in key: Substring) -> [String] {
    key.matches(of: /"([^"]*)"|'([^']*)'|([^\s."']+)/).map { String($0.1 ?? $0.2 ?? $0.3 ?? "") }
  }

  /// Returns the line of the first NUL, from 1; nil if there is none.
  package static func lineOfNUL(in text: String) -> Int? {
    guard let place = text.utf8.firstIndex(of: 0) else { return nil }
    return text.utf8[..<place].count { $0 == UInt8(ascii: "\n") } + 1
  }
}
