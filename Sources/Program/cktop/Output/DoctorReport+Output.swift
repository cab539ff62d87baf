import Doctor
import Facts
import Foundation
import JSONText
import TerminalUI

extension DoctorReport {
  /// The report for people: a line for each finding, and their numbers.
  ///
  /// - Parameter width: the columns of the terminal, at which lines are wrapped; nil if the output is not one.
  func lines(width: Int? = nil) -> [String] {
    let (level, check) = (Finding.Level.allCases.map(\.label), Finding.Check.allCases.map(\.rawValue))
    let columns = [level, check].map { ($0.map(\.count).max() ?? 0) + 2 }
    let indent = columns.reduce(0, +)
    return findings.flatMap { finding -> [String] in
      let head = finding.level.label.padding(to: columns[0]) + finding.check.rawValue.padding(to: columns[1])
      let text = finding.sentence.visible
      guard let width, width > 2 * indent else { return [head + text] }
      let parts = wrap(StyledText(text), to: width - indent).map(\.plain)
      return parts.enumerated().map { ($0.offset == 0 ? head : String(repeating: " ", count: indent)) + $0.element }
    } + [summary]
  }
}

extension Finding: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "check": .text(\.check.rawValue), "level": .text(\.level.rawValue), "text": .text(\.text.sentence),
    "meaning": .text(\.meaning), "remedy": .text(\.remedy),
  ]
}
