import ArgumentParser
import CloudSync
import Facts
import JSONText

/// Which operations, and how: the same for every verb of the queue.
struct QueueSelection: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "Numbers of operations, each with or without the version from 'queue list --json'.",
      discussion: "An operation that changed since that version is left alone, and the exit code is 1.",
      valueName: "id[@version]"
    ),
    transform: { try VersionedID(parsing: $0, from: "cktop queue list") }
  )
  var ids: [VersionedID] = []
  @OptionGroup var condition: WhereOption
  @Flag(help: "All operations.") var all = false
  @Flag(help: "Show what would be done without doing it.") var dryRun = false
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: "Print what was done as a JSON object.") var json = false

  /// Exactly one of the three ways to say which.
  func selection() throws -> Selection {
    let filter = try condition.filter()
    switch (ids.isEmpty, filter, all) {
    case (false, nil, false): return .ids(ids.map(\.id))
    case (true, let filter?, false): return .matching(filter, text: condition.expression ?? "")
    case (true, nil, true): return .all
    case (true, nil, false): throw CommandFailure.usage("no operations are named; give their numbers, --where or --all")
    default: throw CommandFailure.usage("numbers, --where and --all exclude each other; give one of them")
    }
  }

  /// Whether nothing says which operations.
  var isEmpty: Bool { ids.isEmpty && condition.expression == nil && !all }

  /// Sets or lifts the pause rule of a record type.
  func perform(_ verb: QueueVerb, type: String, _ session: Session) async throws {
    guard isEmpty, !dryRun else {
      throw CommandFailure.usage("--type cannot be combined with numbers, --where, --all or --dry-run")
    }
    let store = try session.storeToCommand()
    let rule = PauseRule.type(type)
    var result = CommandResult()
    let isChanged =
      try verb == .pause ? store.pause(rule, actor: Operator.name) : store.resume(rule, actor: Operator.name)
    if isChanged { result.rules = [rule] }
    try report(verb, result)
  }

  /// Does a verb to the selected operations and tells what was done.
  func perform(_ verb: QueueVerb, _ session: Session) async throws {
    let selection = try selection()
    let named = try VersionedID.versions(ids)
    let store = try session.storeToCommand(dryRun: dryRun)
    let decided = verb == .discard && !dryRun ? try confirmed(store, selection, named) : (selection, named)
    guard let (selection, versions) = decided else { return }
    let result = try CommandProgress.during { continues in
      try store.perform(
        verb,
        on: selection,
        versions: versions,
        dryRun: dryRun,
        actor: Operator.name,
        continues: continues
      )
    }
    try report(verb, result)
  }

  /// Asks before a discard. Exactly the operations of the question are discarded, in the versions that they had then.
  private func confirmed(_ store: SyncStore, _ selection: Selection, _ named: [Int64: String]) throws
    -> (Selection, [Int64: String])?
  {
    if yes { return (selection, named) }
    let queued = try store.versions(of: ids.map(\.id))
    if ids.isEmpty || !queued.isEmpty {
      try Question.needAnswer(yes, "this removes changes from the queue", orLook: ", or --dry-run to look first")
    }
    let found = try store.perform(.discard, on: selection, versions: named, dryRun: true, actor: Operator.name).changed
    guard !found.isEmpty else { return (selection, named) }
    let asked = ids.isEmpty ? try store.versions(of: found) : [:]
    guard Question.ask("Discard \(Words.count(found.count, "change"))?") else { return nil }
    // Leaves alone an operation that changed since the question was shown.
    return ids.isEmpty ? (.ids(found), asked) : (selection, queued.merging(named) { $1 })
  }

  private func report(_ verb: QueueVerb, _ result: CommandResult) throws {
    let skipped = result.skipped.sorted { $0.key < $1.key }
    if json {
      let object: JSONObject = [
        "verb": .text(verb.rawValue), "dryRun": .bool(dryRun),
        "changed": .array(result.changed.map(OutputJSON.integer)),
        "skipped": .array(
          skipped.map { ["id": .integer($0.key), "why": .text($0.value.text), "reason": .text($0.value.text)] }
        ),
        "unknown": .array(result.unknown.map(OutputJSON.integer)),
        "unanswered": .array(result.unanswered.map(OutputJSON.integer)),
        "rules": .array(result.rules.map { .text($0.text) }),
        "recreatedZones": .array(result.recreated.sorted().map(OutputJSON.text)),
        "moved": .array(result.moved.map { .object($0.json) }), "notReached": .integer(Int64(result.notReached)),
      ]
      OutputStream.standard.line(object.line)
    } else if let line = ruleLine(verb, result) {
      OutputStream.standard.line(line.visible)
    } else {
      let reasons = Set(skipped.map(\.value.text)).sorted().joined(separator: "; ")
      let left = skipped.isEmpty ? "" : "; left \(skipped.count) alone (\(reasons))"
      let count = Words.count(result.changed.count, "operation")
      let zones = result.recreated.isEmpty ? "" : "; \(Words.recreates(result.recreated))"
      OutputStream.standard.line("\(dryRun ? "would \(verb.rawValue)" : verb.past) \(count)\(left)\(zones)".visible)
      if dryRun { OutputStream.standard.lines(result.changed.map(String.init)) }
      if verb == .discard, !result.unanswered.isEmpty {
        let numbers = result.unanswered.map(String.init).joined(separator: ", ")
        OutputStream.standard.line(
          "unconfirmed: \(numbers); the server may have applied them, and the next sync fetches what it has"
        )
      }
    }
    for id in result.unknown { CommandFailure.noOperation(id).report() }
    if result.notReached > 0 {
      let rest = Words.count(result.notReached, "operation")
      CommandFailure("stopped before \(rest); give the command again to continue", .itemsFailed).report()
    }
    // Named one by one, they were expected to be acted on.
    for (id, reason) in skipped where !ids.isEmpty {
      CommandFailure("operation \(id) was left alone: \(reason); cktop queue show \(id) shows it", .itemsFailed)
        .report()
    }
    let areLeft = !ids.isEmpty && !(result.unknown.isEmpty && skipped.isEmpty)
    if areLeft || result.notReached > 0 { try CommandStatus.itemsFailed.end() }
  }
}

extension CommandFailure {
  /// The failure for an operation that is not in the queue.
  static func noOperation(_ id: Int64) -> CommandFailure {
    CommandFailure("there is no operation \(id); cktop queue list shows them all", .itemsFailed)
  }
}

extension QueueSelection {
  /// The line about pause rules; nil if the verb acted on operations.
  fileprivate func ruleLine(_ verb: QueueVerb, _ result: CommandResult) -> String? {
    guard verb == .pause || verb == .resume, all || !result.rules.isEmpty || isEmpty else { return nil }
    guard !result.rules.isEmpty else { return verb == .pause ? "already paused" : "no pause rule to lift" }
    let rules = result.rules.map(\.text).joined(separator: ", ")
    let deed = dryRun ? "would \(verb.rawValue)" : verb.past
    let remedy = verb == .pause && !dryRun && all ? "; cktop queue resume --all lifts every pause rule" : ""
    return "\(deed) \(rules)\(remedy)"
  }
}

extension QueueVerb {
  /// The verb in the past tense.
  fileprivate var past: String {
    switch self {
    case .retry: "retried"
    case .discard: "discarded"
    case .pause: "paused"
    case .resume: "resumed"
    }
  }
}

/// `cktop queue retry`.
struct QueueRetry: Verb {
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Send failed and retrying operations again, with their attempts reset."
  )
  @OptionGroup var selection: QueueSelection
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws { try await selection.perform(.retry, session) }
}

/// `cktop queue discard`.
struct QueueDiscard: Verb {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Remove operations from the queue without sending them.",
    discussion: "'cktop conflicts undo ID' restores a discarded change until its record is edited again."
  )
  @OptionGroup var selection: QueueSelection
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws { try await selection.perform(.discard, session) }
}

/// `cktop queue edit`.
struct QueueEdit: Verb {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Change fields of a failed save, and send it again.",
    discussion: """
      Fields are written as for 'cktop records put': FIELD=VALUE, FIELD:TYPE=VALUE, or FIELD= to clear one. The type is that \
      of the server's record, else that of the newest records of its type. With ID@VERSION, from 'queue list --json', a \
      change that is no longer in that version is left alone.
      """
  )

  @Argument(
    help: ArgumentHelp("The operation's number, or its number and version.", valueName: "id"),
    transform: { try VersionedID(parsing: $0, from: "cktop queue list") }
  )
  var id: VersionedID
  @Argument(help: ArgumentHelp("The fields to set.", valueName: "field=value")) var assignments: [String]
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let parsed = try assignments.map { try FieldAssignment(parsing: $0) }
    if let twice = FieldAssignment.nameGivenTwice(parsed) {
      throw CommandFailure.usage("\(twice) is set twice; give each field once")
    }
    let store = try await session.storeToAddTo()
    guard try !store.versions(of: [id.id]).isEmpty else { throw CommandFailure.noOperation(id.id) }
    let version = id.version.map { SyncStore.EditedVersion(operation: $0) }
    switch try store.edit(id.id, parsed, ifVersion: version, actor: Operator.name) {
    case .queued: OutputStream.standard.line("edited operation \(id.id): it will be sent again")
    case .discarded:
      OutputStream.standard.line("edited operation \(id.id): nothing is left to send, so it was discarded")
    case .moved:
      throw CommandFailure("operation \(id.id) changed meanwhile, nothing was done; look at it again", .itemsFailed)
    }
  }
}

/// `cktop queue pause`.
struct QueuePause: Verb {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Pause operations until they are resumed.",
    discussion: """
      --all and --type set a rule that also holds for later changes: --all stops all syncing, --type stops sending changes of a \
      record type. 'cktop zones pause' does the same for a zone.
      """
  )
  @Option(help: "Pause a record type, later changes included.") var type: String?
  @OptionGroup var selection: QueueSelection
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    if let type { return try await selection.perform(.pause, type: type, session) }
    try await selection.perform(.pause, session)
  }
}

/// `cktop queue resume`.
struct QueueResume: Verb {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Resume paused operations.",
    discussion: """
      --all lifts every pause rule: for everything, zones and record types. --type lifts the rule of a type. Operations that \
      were paused one by one are resumed by number or --where.
      """
  )
  @Option(help: "Resume a record type.") var type: String?
  @OptionGroup var selection: QueueSelection
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    if let type { return try await selection.perform(.resume, type: type, session) }
    try await selection.perform(.resume, session)
  }
}
