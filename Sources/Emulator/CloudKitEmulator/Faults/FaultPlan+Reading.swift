public import Foundation
import JSONText

extension FaultPlan {
  /// The reason why a plan is invalid, in one line with the position.
  public struct Invalid: Error, CustomStringConvertible {
    /// The position and the error, e.g. `rules[2].when: unknown key 'evry'; known keys: after, …`.
    public let description: String
  }

  /// Decodes a plan from JSON. Unknown keys and names are rejected, because a misspelled one would make a fault that
  /// never applies.
  ///
  /// - Throws: `Invalid`.
  public init(json: Data) throws(Invalid) {
    let plan: Data
    do throws(JSONError) {
      // The decoder does not report where a document is malformed, and has another rule for repeated keys.
      plan = try JSON(json: json).sorted.data
    } catch {
      throw Invalid(description: error.description)
    }
    do {
      self = try JSONDecoder().decode(FaultPlan.self, from: plan)
    } catch let error as DecodingError {
      throw Invalid(description: error.line)
    } catch {
      throw Invalid(description: "\(error)")
    }
  }
}

/// A coding key of any name, to find unknown keys.
private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  /// Throws an error if there is a key other than these.
  func allow(_ known: [String]) throws {
    let keys = try container(keyedBy: AnyKey.self).allKeys.map(\.stringValue).sorted()
    guard let unknown = keys.first(where: { !known.contains($0) }) else { return }
    throw failure("unknown key '\(unknown)'; known keys: \(known.sorted().joined(separator: ", "))")
  }

  func failure(_ text: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: text))
  }
}

extension DecodingError {
  /// The position, counted from one, and the error.
  fileprivate var line: String {
    let context: Context
    var what: String
    switch self {
    case .keyNotFound(let key, let found): (context, what) = (found, "'\(key.stringValue)' is missing")
    case .typeMismatch(let type, let found): (context, what) = (found, "expected \(Self.name(of: type))")
    case .valueNotFound(let type, let found): (context, what) = (found, "expected \(Self.name(of: type)), not null")
    case .dataCorrupted(let found): (context, what) = (found, found.debugDescription)
    @unknown default: return "the plan is unreadable"
    }
    if what.hasSuffix(".") { what.removeLast() }
    var path = ""
    for key in context.codingPath {
      if let index = key.intValue {
        path += "[\(index + 1)]"
      } else {
        path += path.isEmpty ? key.stringValue : "." + key.stringValue
      }
    }
    return path.isEmpty ? what : "\(path): \(what)"
  }

  private static func name(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "text"
    case is Int.Type, is UInt64.Type, is Double.Type: "a number"
    case is [Any].Type: "a list"
    case is [String: Any].Type: "a table"
    default: "\(type)"
    }
  }
}
