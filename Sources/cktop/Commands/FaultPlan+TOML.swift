import CloudKitEmulator
import Foundation
import TOMLKit

/// Reading a plan of faults from TOML.
extension FaultPlan {
  private static let ruleKeys: Set<String> = ["when", "then"]
  private static let conditionKeys: Set<String> = [
    "operation", "recordName", "zone", "database", "after", "every", "limit", "probability",
  ]
  private static let actionKeys: Set<String> = ["action", "retryAfter", "milliseconds"]

  init(tomlFile path: String) throws(CommandFailure) {
    guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
      throw .usage("\(path) cannot be read as text; give a TOML file, cktop help faults shows one")
    }
    try self.init(toml: text, source: path)
  }

  /// Reads a plan. A key that means nothing is refused: a slip of the pen would be a fault that never strikes.
  init(toml text: String, source: String) throws(CommandFailure) {
    let json: Data
    do {
      json = Data(try TOMLTable(string: text).convert(to: .json).utf8)
    } catch let error as TOMLParseError {
      let place = "line \(error.source.begin.line), column \(error.source.begin.column)"
      throw .usage("\(source) \(place): \(error.description); cktop help faults shows a plan")
    } catch {
      throw .usage("\(source) is no TOML; cktop help faults shows a plan")
    }
    try Self.checkKeys(json, source)
    do {
      self = try JSONDecoder().decode(FaultPlan.self, from: json)
    } catch let error as DecodingError {
      throw .usage("\(source): \(Self.text(error)); cktop help faults shows a plan")
    } catch {
      throw .usage("\(source): \(error); cktop help faults shows a plan")
    }
  }

  private static func checkKeys(_ json: Data, _ source: String) throws(CommandFailure) {
    guard let plan = try? JSONSerialization.jsonObject(with: json) as? [String: Any] else { return }
    try check(plan, ["seed", "rules"], "the top", source)
    for (index, rule) in (plan["rules"] as? [[String: Any]] ?? []).enumerated() {
      try check(rule, ruleKeys, "rule \(index + 1)", source)
      if let condition = rule["when"] as? [String: Any] {
        try check(condition, conditionKeys, "'when' of rule \(index + 1)", source)
      }
      if let action = rule["then"] as? [String: Any] {
        try check(action, actionKeys, "'then' of rule \(index + 1)", source)
      }
    }
  }

  private static func check(
    _ table: [String: Any],
    _ known: Set<String>,
    _ place: String,
    _ source: String
  ) throws(CommandFailure) {
    guard let stranger = table.keys.sorted().first(where: { !known.contains($0) }) else { return }
    throw .usage("\(source): \(place) has no '\(stranger)'; it takes \(known.sorted().joined(separator: ", "))")
  }

  private static func text(_ error: DecodingError) -> String {
    let context: DecodingError.Context
    var what = ""
    switch error {
    case .keyNotFound(let key, let found): (context, what) = (found, "'\(key.stringValue)' is missing")
    case .typeMismatch(let type, let found): (context, what) = (found, "expected \(type)")
    case .valueNotFound(_, let found): (context, what) = (found, "a value is missing")
    case .dataCorrupted(let found): (context, what) = (found, found.debugDescription.withoutFullStop)
    @unknown default: return "the plan cannot be read"
    }
    var path = ""
    for key in context.codingPath {
      if let index = key.intValue {
        path += "[\(index + 1)]"
      } else {
        path += path.isEmpty ? key.stringValue : "." + key.stringValue
      }
    }
    // A name that is no action was tried as a table at last.
    if context.codingPath.last?.stringValue == "then", case .typeMismatch = error { what = "there is no such action" }
    return path.isEmpty ? what : "\(path): \(what)"
  }
}
