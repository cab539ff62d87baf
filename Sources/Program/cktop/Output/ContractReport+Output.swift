import CloudKitContract
import Foundation
import TerminalUI

/// The report of `cktop doctor --contract`, which can be published.
extension ContractReport {
  /// A line for each check, and their numbers.
  ///
  /// - Parameter server: the server in words.
  func text(of server: String) -> [String] { lines.map { $0.text.visible } + [summary(of: server)] }

  private func summary(of server: String) -> String {
    let held = lines.count - differing.count - untried.count
    let counts = "\(held) as assumed, \(differing.count) otherwise, \(untried.count) not tried"
    let rest = leftZone.map { "; zone \($0) could not be removed, the next run removes it" } ?? ""
    return "\(counts); \(requests) requests to \(server)\(rest)"
  }
}

extension ContractReport.Line {
  private static let columns = (outcome: 12, rule: 19)

  fileprivate var text: String {
    let (word, detail) = words
    let rule = "\(check.rule) [\(check.evidence.rawValue)]"
    let head = word.padding(to: Self.columns.outcome) + rule.padding(to: Self.columns.rule)
    let name = check.assumption.map { "\($0): " } ?? ""
    return head + name + check.sentence + detail
  }

  private var words: (String, String) {
    switch outcome {
    case .asAssumed: ("as assumed", "")
    case .otherwise(let came): ("otherwise", " Came: \(came)")
    case .notTried(let reason): ("not tried", " Reason: \(reason)")
    }
  }

  /// The outcome by its name, and what came or the reason.
  private var named: (name: String, text: String?) {
    switch outcome {
    case .asAssumed: ("asAssumed", nil)
    case .otherwise(let came): ("otherwise", came)
    case .notTried(let reason): ("notTried", reason)
    }
  }
}

extension ContractReport.Line: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "rule": .text(\.check.rule), "evidence": .text(\.check.evidence.rawValue), "assumption": .text(\.check.assumption),
    "sentence": .text(\.check.sentence), "outcome": .text { $0.named.name }, "text": .text { $0.named.text },
  ]
}
