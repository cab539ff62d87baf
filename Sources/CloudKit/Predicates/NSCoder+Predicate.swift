internal import Foundation
import JSONText

/// Archives predicates as text with separate values, because Foundation's predicates on Linux cannot be archived.
extension NSCoder {
  /// Archives a predicate. A predicate that cannot be written as text, such as one made from a block, is skipped.
  func encode(_ predicate: PredicateNode, forKey key: String) {
    let text = PredicateText(predicate, values: .collected)
    guard PredicateParser.node(format: text.text, arguments: text.arguments) == predicate,
      let arguments = try? text.arguments.json()
    else { return }
    encode(NSString(string: text.text), forKey: key)
    encode(NSData(data: arguments), forKey: key + "Arguments")
  }

  /// Decodes a predicate; nil if none is archived under the key, or the archive is damaged.
  func predicate(forKey key: String) -> NSPredicate? {
    guard let format = string(forKey: key), let arguments = wire([FieldValue].self, forKey: key + "Arguments")
    else { return nil }
    let predicate = NSPredicate(format: format, argumentArray: arguments)
    return predicate.node.isReadable ? predicate : nil
  }
}
