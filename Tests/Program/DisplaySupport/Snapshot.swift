package import TerminalUI

extension Grid {
  /// The grid's characters, one line per row, without blanks at the ends of lines.
  package var text: String {
    lines.map(Self.trimmed).joined(separator: "\n")
  }

  /// The grid's characters, then its styles as letters, then what the letters mean.
  ///
  /// Ordinary text has the letter `.`; every other style gets the next letter in the order of its first appearance.
  package var snapshot: String {
    var letters: [Style: Character] = [.text: "."]
    var legend: [String] = []
    let styles = (0..<size.height).map { y in
      String(
        row(y).map { cell in
          if let letter = letters[cell.style] { return letter }
          let letter = Self.letter(legend.count)
          letters[cell.style] = letter
          legend.append("\(letter) = \(cell.style.name)")
          return letter
        }
      )
    }
    return ([text] + styles + legend).joined(separator: "\n")
  }

  private var lines: [String] {
    (0..<size.height).map { y in String(row(y).filter { $0.columns > 0 }.map(\.character)) }
  }

  private static func trimmed(_ line: String) -> String {
    String(line.reversed().drop { $0 == " " }.reversed())
  }

  private static func letter(_ index: Int) -> Character {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return index < alphabet.count ? alphabet[index] : "?"
  }
}

extension Style {
  fileprivate var name: String {
    let names: [(Attributes, String)] = [
      (.bold, "bold"), (.underline, "underline"), (.reverse, "reverse"), (.dim, "dim"),
    ]
    let place = ground.map { [" on \($0.rawValue)"] } ?? []
    return ([role.rawValue] + names.filter { attributes.contains($0.0) }.map(\.1)).joined(separator: "+")
      + place.joined()
  }
}
