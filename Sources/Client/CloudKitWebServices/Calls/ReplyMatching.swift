extension Array {
  /// Returns the element of a reply for each item of the request; nil for an item that the reply does not include.
  ///
  /// The server does not guarantee the order of the request, so elements are matched by name, byte for byte. The reply
  /// may name another owner of a zone than the request, so the owner counts only if two zones of the request have the
  /// name. An element without an identifier is matched by position, unless the reply names that item (reference 2.5).
  /// One of a zone is matched by the order of the zones that are left.
  package func matched<Item>(to ids: [Item.ID]) -> [WireResult<Item>?] where Element == WireResult<Item> {
    let names = ids.map { ExactName(text: Item.name(of: $0)) }
    var asked: [ExactName: Item.ID] = [:]
    var ambiguous: Set<ExactName> = []
    for (id, name) in zip(ids, names) {
      if let other = asked.updateValue(id, forKey: name), other != id { ambiguous.insert(name) }
    }
    var found: [ExactName: [Element]] = [:]
    for element in self {
      if let id = element.id { found[ExactName(text: Item.name(of: id)), default: []].append(element) }
    }
    var matches = zip(ids, names).map { id, name in
      found[name]?.last { $0.id == id } ?? (ambiguous.contains(name) ? nil : found[name]?.last)
    }
    let left = matches.indices.filter { matches[$0] == nil }
    if Item.isListedInOrder {
      for place in left where place < count && self[place].id == nil { matches[place] = self[place] }
    } else {
      let nameless = filter { $0.id == nil }
      if left.count == nameless.count { for (place, element) in zip(left, nameless) { matches[place] = element } }
    }
    return matches
  }
}

/// A name by its bytes: the server distinguishes two spellings of an accent.
private struct ExactName: Hashable {
  let text: String

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }
}
