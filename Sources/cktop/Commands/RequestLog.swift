import CloudKitEmulator
import CloudSync
import Facts
import Foundation

extension OutputStream {
  /// Whether colours are seen and wanted.
  var isColoured: Bool { isTerminal && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty }
}

extension EmulatorServer.LogEntry {
  private enum Colour: String {
    case green = "32"
    case yellow = "33"
    case red = "31"
    case magenta = "35"
  }

  /// The line of the request log: time, method, database and operation, records, outcome, duration, and what faults struck.
  func line(at now: Int64, isColoured: Bool = false) -> String {
    let paint = { (text: String, colour: Colour) in
      isColoured ? "\u{1B}[\(colour.rawValue)m\(text.visible)\u{1B}[0m" : text.visible
    }
    var words = [RFC3339.text(milliseconds: now) ?? "", summary.method.visible, target.visible]
    words.append("\(summary.items) items")
    words.append(paint(summary.result, colour))
    words.append(String(format: "%.1f", milliseconds) + " ms")
    if !summary.faults.isEmpty { words.append(paint("[\(summary.faults.joined(separator: ", "))]", .magenta)) }
    return words.joined(separator: " ")
  }

  /// The operation with its database, or the path that leads to none; never the query, in which tokens travel.
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
