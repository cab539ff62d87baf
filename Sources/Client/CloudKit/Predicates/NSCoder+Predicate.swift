internal import Foundation
import JSONText

/// Archives predicates as trees, because Foundation's predicates on Linux cannot be archived.
extension NSCoder {
  /// Archives a predicate. One that is not usable, such as one made from a block, is skipped.
  func encode(_ predicate: PredicateNode, forKey key: String) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard predicate.isReadable, let data = try? encoder.encode(predicate) else { return }
    encode(NSData(data: data), forKey: key)
  }

  /// Decodes a predicate; nil if none is archived under the key, or the archive is damaged.
  func predicate(forKey key: String) -> NSPredicate? {
    let archived = object(NSData.self, forKey: key).map {
      try? JSONDecoder().decode(PredicateNode.self, from: Data(referencing: $0))
    }
    guard let node = archived ?? formattedPredicate(forKey: key), node.isReadable else { return nil }
    return NSPredicate(node: node)
  }

  /// Decodes a predicate from an archive of an earlier version: a format, and its arguments under another key.
  private func formattedPredicate(forKey key: String) -> PredicateNode? {
    guard let format = string(forKey: key), let arguments = wire([FieldValue].self, forKey: key + "Arguments")
    else { return nil }
    return PredicateParser.node(format: format, arguments: arguments)
  }
}

extension FieldValue: Codable {
  /// Decodes a value from the text of its wire encoding.
  package init(from decoder: any Decoder) throws {
    self = try FieldValue(json: Data(decoder.singleValueContainer().decode(String.self).utf8))
  }

  /// Encodes the value as the text of its wire encoding, which is lossless.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(String(decoding: json(), as: UTF8.self))
  }
}
