import CloudService
import CloudSync
import Facts

extension Receipt {
  /// The sentence.
  var text: String { text { CommandFailure($0)?.message ?? "\($0)" } }

  /// The receipt of a command that did not fail.
  func checked() throws -> Receipt { if let failure { throw failure } else { self } }

  /// Prints the receipt on standard output, and on standard error one line for each operation that was left alone.
  ///
  /// - Parameters:
  ///   - json: Whether to print it as a JSON object.
  ///   - isNamed: Whether the operations were named one by one. Then one that is left alone is a failure.
  ///   - lines: The lines below its sentence.
  /// - Throws: The failure of the command, or the exit code if something was left alone.
  func report(json: Bool, isNamed: Bool = true, lines: [String] = []) throws {
    // A conflict that changed is left alone, and shown as it is now.
    if !json { OutputFile.standard.lines(moved.flatMap(\.lines).map(\.visible)) }
    if !doesNotApply { _ = try checked() }
    let failures = failures(isNamed: isNamed)
    if json {
      OutputFile.standard.line(self.json.line)
    } else if !doesNotApply {
      // Failures are reported elsewhere.
      var done = self
      if isNamed || isOfConflicts {
        (done.result.skipped, done.result.unknown) = (result.skipped.filter { $0.value == .unchanged }, [])
      }
      let isSaid = failures.isEmpty || changed > 0 || done.leftAlone != nil
      OutputFile.standard.lines(((isSaid ? [done.text] : []) + lines + (isNamed ? [] : reasons)).map(\.visible))
    }
    if case CommandRefusal.doesNotApply(let reason)? = failure { throw CommandFailure(reason, .itemsFailed) }
    for failure in failures { failure.report() }
    if !failures.isEmpty { try CommandStatus.itemsFailed.end() }
  }

  /// Why operations that were not named one by one were left alone, where several were.
  private var reasons: [String] {
    guard result.skipped.count > 1 else { return [] }
    let counts = Dictionary(grouping: result.skipped.values.map(\.text)) { $0 }
    return counts.sorted { $0.key < $1.key }.map { "  \(Words.count($0.value.count, noun)) left alone: \($0.key)" }
  }

  private var isUndo: Bool { if case .undo = command { true } else { false } }

  /// The failure for each operation that was left alone.
  private func failures(isNamed: Bool) -> [CommandFailure] {
    let list = isOfConflicts ? "conflicts" : "queue"
    // One that was not named has been sent meanwhile.
    let unknown = isNamed || isOfConflicts ? result.unknown : []
    var failures = isOfConflicts ? unknown.map(CommandFailure.noConflict) : unknown.isEmpty ? [] : [.no(unknown)]
    for (id, obstacle) in result.skipped.sorted(by: { $0.key < $1.key })
    where (isNamed || isOfConflicts) && obstacle != .unchanged {
      let remedy = "cktop \(list) show \(id) shows it"
      // The reason of an undo names the operation, and what to do.
      failures.append(
        isUndo
          ? CommandFailure(obstacle.text, .itemsFailed)
          : CommandFailure("\(noun) \(id) was left alone: \(obstacle.text); \(remedy)", .itemsFailed)
      )
    }
    if result.notReached > 0 {
      let rest = Words.count(result.notReached, noun)
      failures.append(CommandFailure("stopped before \(rest); give the command again to continue", .itemsFailed))
    }
    return failures
  }
}

extension CommandFailure {
  /// The failure for operations that are not in the queue.
  static func no(_ ids: [Int64]) -> CommandFailure {
    let subject = Event.Subject(ids, of: ids.count).text
    let what = ids.count == 1 ? "is no operation \(subject)" : "are no operations \(subject)"
    return CommandFailure("there \(what); cktop queue list shows them all", .itemsFailed)
  }

  /// A conflict that is not there.
  static func noConflict(_ id: Int64) -> CommandFailure {
    CommandFailure("\(id) is not a conflict; cktop conflicts list shows them all", .itemsFailed)
  }
}
