import CloudSync
import Facts
import Foundation
import TerminalUI

/// One line of `cktop doctor`: a check with its result, meaning and remedy.
struct Finding: Hashable, Sendable {
  /// The checks, by their names in the JSON, in the order of the report.
  enum Check: String, CaseIterable, Hashable, Sendable {
    case configuration, credential
    case proxy, name, connection, encryption, clock
    case account, container, write, zones, schema
    case store, integrity, disk, log, owner
    case sync, process, files, watches
    case terminal, versions
  }

  /// How a check ended, by its name in the JSON.
  enum Level: String, CaseIterable, Hashable, Sendable {
    case ok, warning, problem
    /// It could not be made; the text has the reason.
    case notTried

    /// The level as the report has it.
    var label: String { self == .notTried ? "not tried" : rawValue }
  }

  let check: Check
  let level: Level
  /// The result, without a full stop.
  let text: String
  /// The meaning of the result; nil if the text says it.
  private(set) var meaning: String?
  /// The remedy; nil if there is nothing to do, or the text says it.
  private(set) var remedy: String?
  /// The exit code of a problem.
  private(set) var status = CommandStatus.done

  private init(_ check: Check, _ level: Level, _ text: String) {
    (self.check, self.level, self.text) = (check, level, text)
  }

  static func ok(_ check: Check, _ text: String) -> Finding { Finding(check, .ok, text) }

  static func notTried(_ check: Check, _ reason: String) -> Finding { Finding(check, .notTried, reason) }

  static func warning(_ check: Check, _ text: String, _ meaning: String? = nil, _ remedy: String? = nil) -> Finding {
    var finding = Finding(check, .warning, text)
    (finding.meaning, finding.remedy) = (meaning, remedy)
    return finding
  }

  static func problem(
    _ check: Check,
    _ text: String,
    _ meaning: String? = nil,
    _ remedy: String? = nil,
    status: CommandStatus = .itemsFailed
  ) -> Finding {
    var finding = Finding(check, .problem, text)
    (finding.meaning, finding.remedy, finding.status) = (meaning, remedy, status)
    return finding
  }

  /// The failure of a command as a problem. Its message says also what to do.
  init(_ check: Check, _ failure: CommandFailure) {
    self = .problem(check, failure.message, status: failure.status)
  }

  /// The finding on one line.
  var sentence: String { ([text.sentence] + [meaning, remedy].compactMap(\.self)).joined(separator: "; ") }

  /// The finding with secrets masked.
  func masked(by redaction: Redaction) -> Finding {
    var finding = Finding(check, level, redaction.redact(text))
    (finding.meaning, finding.remedy) = (meaning.map(redaction.redact), remedy.map(redaction.redact))
    finding.status = status
    return finding
  }
}

extension Finding: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "check": .text(\.check.rawValue), "level": .text(\.level.rawValue), "text": .text(\.text.sentence),
    "meaning": .text(\.meaning), "remedy": .text(\.remedy),
  ]
}

/// All findings, in the order in which they are reported.
struct DoctorReport: Hashable, Sendable {
  let findings: [Finding]

  init(_ findings: [Finding]) { self.findings = findings }

  /// The exit code: that of the most urgent problem; warnings have none.
  var status: CommandStatus { .combined(findings.map(\.status)) }

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

  /// The number of findings of each level, such as "1 problem, 2 warnings, 14 ok, 3 not tried".
  var summary: String {
    func count(_ level: Finding.Level) -> Int { findings.count { $0.level == level } }
    let (problems, warnings, skipped) = (count(.problem), count(.warning), count(.notTried))
    return "\(Words.count(problems, "problem")), \(Words.count(warnings, "warning")), \(count(.ok)) ok"
      + (skipped > 0 ? ", \(skipped) not tried" : "")
  }
}
