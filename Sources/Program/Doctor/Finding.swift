package import CloudSync
package import Facts
import Foundation

/// One line of `cktop doctor`: a check with its result, meaning and remedy.
package struct Finding: Hashable, Sendable {
  /// The checks, by their names in the JSON, in the order of the report.
  package enum Check: String, CaseIterable, Hashable, Sendable {
    case configuration, credential
    case proxy, name, connection, encryption, clock
    case account, container, write, zones, schema
    case store, integrity, disk, log, owner
    case sync, process, files, watches
    case terminal, versions
  }

  /// How a check ended, by its name in the JSON.
  package enum Level: String, CaseIterable, Hashable, Sendable {
    case ok, warning, problem
    /// It could not be made; the text has the reason.
    case notTried

    /// The level as the report has it.
    package var label: String { self == .notTried ? "not tried" : rawValue }
  }

  package let check: Check
  package let level: Level
  /// The result, without a full stop.
  package let text: String
  /// The meaning of the result; nil if the text says it.
  package private(set) var meaning: String?
  /// The remedy; nil if there is nothing to do, or the text says it.
  package private(set) var remedy: String?
  /// The exit code of a problem.
  package private(set) var status = CommandStatus.done

  private init(_ check: Check, _ level: Level, _ text: String) {
    (self.check, self.level, self.text) = (check, level, text)
  }

  package static func ok(_ check: Check, _ text: String) -> Finding { Finding(check, .ok, text) }

  package static func notTried(_ check: Check, _ reason: String) -> Finding { Finding(check, .notTried, reason) }

  package static func warning(_ check: Check, _ text: String, _ meaning: String? = nil, _ remedy: String? = nil)
    -> Finding
  {
    var finding = Finding(check, .warning, text)
    (finding.meaning, finding.remedy) = (meaning, remedy)
    return finding
  }

  package static func problem(
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
  package init(_ check: Check, _ failure: CommandFailure) {
    self = .problem(check, failure.message, status: failure.status)
  }

  /// The finding on one line.
  package var sentence: String { ([text.sentence] + [meaning, remedy].compactMap(\.self)).joined(separator: "; ") }

  /// The finding with secrets masked.
  package func masked(by redaction: Redaction) -> Finding {
    var finding = Finding(check, level, redaction.redact(text))
    (finding.meaning, finding.remedy) = (meaning.map(redaction.redact), remedy.map(redaction.redact))
    finding.status = status
    return finding
  }
}

/// All findings, in the order in which they are reported.
package struct DoctorReport: Hashable, Sendable {
  package let findings: [Finding]

  package init(_ findings: [Finding]) { self.findings = findings }

  /// The exit code: that of the most urgent problem; warnings have none.
  package var status: CommandStatus { .combined(findings.map(\.status)) }

  /// The number of findings of each level, such as "1 problem, 2 warnings, 14 ok, 3 not tried".
  package var summary: String {
    func count(_ level: Finding.Level) -> Int { findings.count { $0.level == level } }
    let (problems, warnings, skipped) = (count(.problem), count(.warning), count(.notTried))
    return "\(Words.count(problems, "problem")), \(Words.count(warnings, "warning")), \(count(.ok)) ok"
      + (skipped > 0 ? ", \(skipped) not tried" : "")
  }
}
