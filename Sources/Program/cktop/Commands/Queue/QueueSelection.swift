import ArgumentParser
import CloudService
import CloudSync
import Facts

/// Which operations, and how: the same for every verb of the queue, and for the resolution of conflicts.
struct QueueSelection<Selecting: SelectingVerb>: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "Numbers, each with or without the version from 'list --json'.",
      discussion: "One that changed since that version is left alone, and the exit code is 1.",
      valueName: "id[@version]"
    ),
    transform: { try VersionedID(parsing: $0, from: "cktop queue list or cktop conflicts list") }
  )
  var ids: [VersionedID] = []
  @OptionGroup var condition: WhereOption
  @Flag(help: "All of them.") var all = false
  @Flag(help: "Show what would be done without doing it.") var dryRun = false
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: .json("Print what was done as a JSON object.", Selecting.printed)) var json = false

  /// Exactly one of the three ways to say which.
  ///
  /// - Parameter what: What they are called.
  func selection(of what: String) throws -> Selection {
    let filter = try condition.filter()
    switch (ids.isEmpty, filter, all) {
    case (false, nil, false): return .ids(ids.map(\.id))
    case (true, let filter?, false): return .matching(filter, text: condition.expression ?? "")
    case (true, nil, true): return .all
    case (true, nil, false): throw CommandFailure.usage("no \(what) are named; give their numbers, --where or --all")
    default: throw CommandFailure.usage("numbers, --where and --all exclude each other; give one of them")
    }
  }

  /// The command for the selected operations, or for a pause rule.
  func command(_ verb: QueueVerb, _ rule: PauseRule?) throws -> ServiceCommand {
    if let rule {
      guard ids.isEmpty, condition.expression == nil, !all else {
        throw CommandFailure.usage("--type and --everything cannot be combined with numbers, --where or --all")
      }
      return verb == .pause ? .pause([rule], dryRun: dryRun) : .resume([rule], dryRun: dryRun)
    }
    let selection = try selection(of: "operations")
    switch (verb, selection) {
    case (.pause, .all): return .pause([.everything], dryRun: dryRun)
    case (.resume, .all): return .resume(nil, dryRun: dryRun)
    default: return .perform(verb, selection, versions: try VersionedID.versions(ids), dryRun: dryRun)
    }
  }
}

/// A verb that acts on the selected operations.
protocol SelectingVerb: CommandVerb {
  /// The fields of its receipt.
  static var printed: JSONShape { get }
}
