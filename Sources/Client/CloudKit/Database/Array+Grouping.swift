extension Array where Element: Hashable {
  /// The elements without duplicates, in the order of their first occurrence.
  var withoutRepetition: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }

  var isWithoutRepetition: Bool { Set(self).count == count }
}

extension Array {
  /// Returns the elements grouped by key, with the keys in the order of their first element.
  func grouped<Key: Hashable>(by key: (Element) -> Key) -> [(key: Key, elements: [Element])] {
    var order: [Key] = []
    var groups: [Key: [Element]] = [:]
    for element in self {
      let key = key(element)
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(element)
    }
    return order.map { ($0, groups[$0] ?? []) }
  }
}
