import ArgumentParser
import CloudService
import CloudSync
import Facts

/// A verb of the queue, which acts on the selected operations.
protocol QueueActing: SelectingVerb {
  static var verb: QueueVerb { get }
  var selection: QueueSelection<Self> { get }
  var rule: PauseRule? { get }
}

extension QueueActing {
  static var printed: JSONShape { Receipt.operations.shape }

  var rule: PauseRule? { nil }
  var dryRun: Bool { selection.dryRun }
  var yes: Bool { selection.yes }
  var json: Bool { selection.json }
  var isNamed: Bool { !selection.ids.isEmpty }

  func check() throws { _ = try selection.command(Self.verb, rule) }

  func command(_ store: SyncStore) throws -> ServiceCommand { try selection.command(Self.verb, rule) }

  func lines(_ receipt: Receipt, _ question: CommandQuestion?, _ store: SyncStore) -> [String] {
    (dryRun ? receipt.result.changed.map(String.init) : [])
      + (receipt.command == .pause([.everything]) ? ["cktop queue resume --everything resumes"] : [])
  }
}

/// `cktop queue retry`.
struct QueueRetry: QueueActing {
  static let verb = QueueVerb.retry
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Send failed and retrying operations again, with their attempts reset."
  )
  @OptionGroup var selection: QueueSelection<Self>
  @OptionGroup var options: StoreOptions
}

/// `cktop queue discard`.
struct QueueDiscard: QueueActing {
  static let verb = QueueVerb.discard
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Remove operations from the queue without sending them.",
    discussion: "'cktop conflicts undo ID' restores a discarded change until its record is edited again."
  )
  @OptionGroup var selection: QueueSelection<Self>
  @OptionGroup var options: StoreOptions

  /// The operations that would be discarded now, in the versions that they have.
  func question(_ command: ServiceCommand, _ store: SyncStore) throws -> CommandQuestion? {
    guard case .perform(.discard, let named, let versions, false) = command, !yes else { return nil }
    let queued = try store.versions(of: selection.ids.map(\.id))
    if isNamed, queued.isEmpty { return nil }
    let preview = ServiceCommand.perform(.discard, named, versions: versions, dryRun: true)
    let found = try preview.run(on: { store }).checked().result.changed
    if isNamed || found.isEmpty {
      return .discard(named, versions: queued.merging(versions) { $1 }, count: found.count)
    }
    return .discard(.ids(found), versions: try store.versions(of: found), count: found.count)
  }
}

/// `cktop queue edit`.
struct QueueEdit: CommandVerb {
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
  @Flag(help: .json("Print what was done as a JSON object.", Receipt.edit.shape)) var json = false
  @OptionGroup var options: StoreOptions

  static var addsToQueue: Bool { true }

  func check() throws { _ = try parsed() }

  func command(_ store: SyncStore) throws -> ServiceCommand {
    .edit(id.id, try parsed(), version: id.version.map { SyncStore.EditedVersion(operation: $0) })
  }

  private func parsed() throws -> [FieldAssignment] { try FieldAssignment.all(parsing: assignments) }
}

/// `cktop queue pause`.
struct QueuePause: QueueActing {
  static let verb = QueueVerb.pause
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Pause operations until they are resumed.",
    discussion: """
      --all and --type set a rule that also holds for later changes: --all stops all syncing, --type stops sending changes of a \
      record type. 'cktop zones pause' does the same for a zone.
      """
  )
  @Option(help: "Pause a record type, later changes included.", completion: .recordTypes) var type: String?
  @OptionGroup var selection: QueueSelection<Self>
  @OptionGroup var options: StoreOptions

  var rule: PauseRule? { type.map(PauseRule.type) }
}

/// `cktop queue resume`.
struct QueueResume: QueueActing {
  static let verb = QueueVerb.resume
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Resume paused operations.",
    discussion: """
      --all lifts every pause rule: for everything, zones and record types. --type lifts the rule of a type. Operations that \
      were paused one by one are resumed by number or --where.
      """
  )
  @Option(help: "Resume a record type.", completion: .recordTypes) var type: String?
  @Flag(help: "Lift the pause of everything, and leave those of zones and record types.") var everything = false
  @OptionGroup var selection: QueueSelection<Self>
  @OptionGroup var options: StoreOptions

  func validate() throws {
    if everything, type != nil { throw ValidationError("--everything and --type cannot be combined") }
  }

  var rule: PauseRule? { everything ? .everything : type.map(PauseRule.type) }
}
