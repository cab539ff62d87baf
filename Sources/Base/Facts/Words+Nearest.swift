extension Words {
  /// Returns the name that was probably meant: one letter differs, or two in a long name; nil if there is none.
  package static func nearest(to name: String, among names: [String]) -> String? {
    let limit = name.count > 5 ? 2 : 1
    let distances = names.filter { abs($0.count - name.count) <= limit }.map {
      (name: $0, distance: distance(name, $0))
    }
    return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.name
  }

  /// Says that a declaration of a model has a key that no property has, and which key was probably meant.
  package static func noProperty(_ key: String, of declaration: String, among keys: [String]) -> String {
    let remedy = nearest(to: key, among: keys).map { "Did you mean '\($0)'?" } ?? "The keys are \(list(keys.sorted()))."
    return "\(declaration) has the key '\(key)', which no property has. \(remedy)"
  }

  /// Returns the number of letters that were added, left out, replaced or swapped with the next between two names.
  private static func distance(_ first: String, _ second: String) -> Int {
    let (first, second) = (Array(first), Array(second))
    var rows = [Array(0...second.count)]
    for (place, letter) in first.enumerated() {
      var row = [place + 1]
      for (other, otherLetter) in second.enumerated() {
        let replaced = rows[place][other] + (letter == otherLetter ? 0 : 1)
        row.append(min(replaced, rows[place][other + 1] + 1, row[other] + 1))
        if place > 0, other > 0, letter == second[other - 1], first[place - 1] == otherLetter {
          row[other + 1] = min(row[other + 1], rows[place - 1][other - 1] + 1)
        }
      }
      rows.append(row)
    }
    return rows[first.count][second.count]
  }
}
