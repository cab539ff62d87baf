public import Foundation

extension FaultPlan {
  /// Why a plan cannot be used, in one line that names the place.
  public struct Invalid: Error, CustomStringConvertible {
    /// The place and what is wrong there, e.g. `rules[2].when: there is no 'evry'; it takes after, every, …`.
    public let description: String
  }

  /// Reads a plan from JSON. A key or a name that means nothing is refused: a slip of the pen would be a fault that
  /// never strikes.
  ///
  /// - Throws: `Invalid`.
  public init(json: Data) throws(Invalid) {
    do throws(JSONParser.Failure) {
      // The decoder does not say where a document breaks off.
      _ = try JSONParser.parse(json)
    } catch {
      throw Invalid(description: error.reason)
    }
    do {
      self = try JSONDecoder().decode(FaultPlan.self, from: json)
    } catch let error as DecodingError {
      throw Invalid(description: error.line)
    } catch {
      throw Invalid(description: "\(error)")
    }
  }
}

/// Any key at all, so that those nobody expects are seen.
private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Decoder {
  /// Refuses every key but these.
  func allow(_ known: [String]) throws {
    let keys = try container(keyedBy: AnyKey.self).allKeys.map(\.stringValue).sorted()
    guard let stranger = keys.first(where: { !known.contains($0) }) else { return }
    throw failure("there is no '\(stranger)'; it takes \(known.sorted().joined(separator: ", "))")
  }

  func failure(_ text: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: text))
  }
}

extension DecodingError {
  /// The place, counted from one as people do, and what is wrong there.
  fileprivate var line: String {
    let context: Context
    var what: String
    switch self {
    case .keyNotFound(let key, let found): (context, what) = (found, "'\(key.stringValue)' is missing")
    case .typeMismatch(let type, let found): (context, what) = (found, "expected \(Self.name(of: type))")
    case .valueNotFound(let type, let found): (context, what) = (found, "expected \(Self.name(of: type)), not null")
    case .dataCorrupted(let found): (context, what) = (found, found.debugDescription)
    @unknown default: return "the plan cannot be read"
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
