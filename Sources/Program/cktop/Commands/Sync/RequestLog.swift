import CloudKitEmulator
import CloudSync
import Facts
import Foundation

extension OutputFile {
  /// Whether to use colours: on a terminal, unless `NO_COLOR` is set.
  var isColoured: Bool { isTerminal && !ProcessInfo.processInfo.environment.isMonochrome }
}

extension EmulatorServer.LogEntry {
  private enum Colour: String {
    case green = "32"
    case yellow = "33"
    case red = "31"
    case magenta = "35"
  }

  /// The line of the request log: time, method, database and operation, records, outcome, duration, and the faults that
  /// were injected.
  func line(at now: Int64, format: Format = Format(), isColoured: Bool = false) -> String {
    let paint = { (text: String, colour: Colour) in
      isColoured ? "\u{1B}[\(colour.rawValue)m\(text.visible)\u{1B}[0m" : text.visible
    }
    var words = [format.stamp(now), summary.method.visible, target.visible]
    words.append("\(summary.items) items")
    words.append(paint(summary.result, colour))
    words.append(String(format: "%.1f", milliseconds) + " ms")
    if !summary.faults.isEmpty { words.append(paint("[\(summary.faults.joined(separator: ", "))]", .magenta)) }
    return words.joined(separator: " ")
  }

  /// The database and operation, or the path of an unknown request. Never the query, which may hold tokens.
  private var target: String {
    switch summary.operation {
    case "unknown", "admin": String(summary.path.prefix(100))
    case let operation: summary.database.isEmpty ? operation : "\(summary.database)/\(operation)"
    }
  }

  private var colour: Colour {
    guard let status = Int(summary.result.prefix(3)) else { return .magenta }
    switch status {
    case ..<400: return summary.result.contains("errors") || summary.result.contains("truncated") ? .yellow : .green
    case ..<500: return .yellow
    default: return .red
    }
  }
}
