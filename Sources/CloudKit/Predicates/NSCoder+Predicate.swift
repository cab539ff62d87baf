internal import Foundation

/// Archives predicates as text with separate values, because Foundation's predicates on Linux cannot be archived.
extension NSCoder {
  /// Archives a predicate. A predicate that cannot be written as text, such as one made from a block, is skipped.
  func encode(_ predicate: PredicateNode, forKey key: String) {
    let text = PredicateText(predicate, values: .collected)
    guard PredicateParser.node(format: text.text, arguments: text.arguments) == predicate,
      let arguments = try? JSONEncoder().encode(text.arguments)
    else { return }
    encode(NSString(string: text.text), forKey: key)
    encode(NSData(data: arguments), forKey: key + "Arguments")
  }

  /// Decodes a predicate; nil if none is archived under the key, or the archive is damaged.
  func predicate(forKey key: String) -> NSPredicate? {
    guard let format = string(forKey: key), let data = object(NSData.self, forKey: key + "Arguments"),
      let arguments = try? JSONDecoder().decode([FieldValue].self, from: Data(referencing: data))
    else { return nil }
    let predicate = NSPredicate(format: format, argumentArray: arguments)
    return predicate.node.isReadable ? predicate : nil
  }
}
