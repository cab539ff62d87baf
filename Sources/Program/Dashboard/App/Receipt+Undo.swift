import CloudService
import CloudSync

extension Receipt {
  /// The command that undoes what this one did; nil if it did nothing, or nothing that `u` undoes.
  var undoing: ServiceCommand? {
    guard failure == nil else { return nil }
    switch command {
    case .resolve, .resolveAll, .perform(.discard, _, _, _):
      return result.changed.isEmpty ? nil : .undo(result.changed)
    case .perform(.pause, _, _, _): return result.changed.isEmpty ? nil : .perform(.resume, .ids(result.changed))
    case .pause: return result.rules.isEmpty ? nil : .resume(result.rules)
    default: return nil
    }
  }
}

extension ServiceCommand {
  /// The command without what another one did already; nil if nothing is left.
  func without(_ receipt: Receipt) -> ServiceCommand? {
    switch (self, receipt.command) {
    case (.undo(let ids), .undo), (.undo(let ids), .undoAll):
      let left = ids.filter { !receipt.result.changed.contains($0) }
      return left.isEmpty ? nil : .undo(left)
    case (.perform(.resume, .ids(let ids), _, _), .perform(.resume, _, _, _)):
      let left = ids.filter { !receipt.result.changed.contains($0) }
      return left.isEmpty ? nil : .perform(.resume, .ids(left))
    case (.resume(let rules?, _), .resume):
      let left = rules.filter { !receipt.result.rules.contains($0) }
      return left.isEmpty ? nil : .resume(left)
    default: return self
    }
  }
}
