package import CloudKit
package import Facts
import Foundation

extension CKQuery {
  /// Reads `TYPE where PREDICATE sort by FIELD desc, FIELD`.
  package convenience init(parsing text: String) throws(CommandFailure) {
    let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    let type = String(text.prefix { !$0.isWhitespace })
    guard NameRule.isFieldName(type) else {
      throw .usage("a query begins with a record type; write for example City where name = 'Lisbon'")
    }
    let (head, order) = text.dropFirst(type.count).splitAtSorting
    let condition: String
    if let match = head.prefixMatch(of: /\s*where\b/.ignoresCase()) {
      condition = String(head[match.range.upperBound...])
    } else if head.allSatisfy(\.isWhitespace) {
      condition = "TRUEPREDICATE"
    } else {
      let text = head.trimmingCharacters(in: .whitespaces)
      throw .usage(
        "after a record type comes 'where' or 'sort by', not '\(text.excerpt)'; see cktop help records query"
      )
    }
    self.init(recordType: type, predicate: NSPredicate(format: condition))
    if let problem { throw .usage("the predicate cannot be read: \(problem); correct it") }
    sortDescriptors = try order.map(Self.descriptors)
  }

  private static func descriptors(_ text: Substring) throws(CommandFailure) -> [NSSortDescriptor] {
    var descriptors: [NSSortDescriptor] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(whereSeparator: \.isWhitespace)
      let way = words.dropFirst().first?.lowercased() ?? "asc"
      guard let field = words.first, words.count <= 2, NameRule.isFieldName(String(field)),
        ["asc", "ascending", "desc", "descending"].contains(way)
      else { throw .usage("'sort by' takes fields, each with asc or desc after it; write sort by people desc, name") }
      descriptors.append(NSSortDescriptor(key: String(field), ascending: way.hasPrefix("asc")))
    }
    return descriptors
  }
}

extension Substring {
  /// The parts before and after the last `sort by` outside quotes; the second is nil if there is none.
  fileprivate var splitAtSorting: (Substring, Substring?) {
    var quote: Character?
    var isEscaped = false
    var last: Range<Index>?
    for index in indices {
      let character = self[index]
      if isEscaped {
        isEscaped = false
      } else if let open = quote {
        if character == "\\" { isEscaped = true } else if character == open { quote = nil }
      } else if character == "'" || character == "\"" {
        quote = character
      } else if index == startIndex || self[self.index(before: index)].isWhitespace,
        let match = self[index...].prefixMatch(of: /sort\s+by\b/.ignoresCase())
      {
        last = match.range
      }
    }
    return last.map { (self[..<$0.lowerBound], self[$0.upperBound...]) } ?? (self, nil)
  }
}
