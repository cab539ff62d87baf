/// Returns the positions of items in an order in which each comes after those that it needs: first those that need
/// nothing, then those whose needs are met, and so on, each time in the given order. Items that need each other stay in
/// the given order.
///
/// - Parameter needs: The positions of the items that each item needs.
package func dependencyOrder(_ needs: [Set<Int>]) -> [Int] {
  var dependents = [[Int]](repeating: [], count: needs.count)
  var needsLeft = [Int](repeating: 0, count: needs.count)
  for (place, needed) in needs.enumerated() {
    for other in needed where other != place {
      dependents[other].append(place)
      needsLeft[place] += 1
    }
  }
  var order: [Int] = []
  var isTaken = [Bool](repeating: false, count: needs.count)
  var first = 0
  var round = needs.indices.filter { needsLeft[$0] == 0 }
  while order.count < needs.count {
    if round.isEmpty {
      while isTaken[first] { first += 1 }
      round = [first]
    }
    var freed: [Int] = []
    for place in round {
      order.append(place)
      isTaken[place] = true
      for dependent in dependents[place] {
        needsLeft[dependent] -= 1
        if needsLeft[dependent] == 0, !isTaken[dependent] { freed.append(dependent) }
      }
    }
    round = freed.sorted()
  }
  return order
}
