import CloudService
import CloudSync

/// A verb that gives a command to the store, as a key of the dashboard does. Its options and `command` suffice; the
/// rest is for what differs.
protocol CommandVerb: ChangingVerb {
  /// Whether it adds to the queue, so that the sign-in must be that of the store's user.
  static var addsToQueue: Bool { get }
  /// Whether it only shows what it would do.
  var dryRun: Bool { get }
  /// Whether it asks nothing.
  var yes: Bool { get }
  var json: Bool { get }
  /// Whether each operation is named. Then one that is left alone is a failure.
  var isNamed: Bool { get }

  /// Throws if the options contradict each other, before the store is opened.
  func check() throws
  /// Throws if the store lacks what the verb is about, or has another policy.
  func require(_ store: SyncStore, _ session: Session) throws
  /// Returns the command for what is in the store now.
  func command(_ store: SyncStore) throws -> ServiceCommand
  /// Returns the question that a person answers first; nil if there is none.
  func question(_ command: ServiceCommand, _ store: SyncStore) throws -> CommandQuestion?
  /// Returns the lines below the receipt's sentence.
  ///
  /// - Parameter question: the question of the command, asked or not. After the command nothing else knows the cost.
  func lines(_ receipt: Receipt, _ question: CommandQuestion?, _ store: SyncStore) throws -> [String]
}

extension CommandVerb {
  static var addsToQueue: Bool { false }
  var dryRun: Bool { false }
  var yes: Bool { false }
  var isNamed: Bool { true }

  func check() throws {}
  func require(_ store: SyncStore, _ session: Session) throws {}
  func question(_ command: ServiceCommand, _ store: SyncStore) throws -> CommandQuestion? { nil }
  func lines(_ receipt: Receipt, _ question: CommandQuestion?, _ store: SyncStore) throws -> [String] { [] }

  /// Opens the store, which read-only mode refuses before anything is asked; asks; carries the command out; reports.
  func run(_ session: Session) async throws {
    try check()
    let store =
      try await Self.addsToQueue ? session.storeToAddTo(dryRun: dryRun) : session.storeToCommand(dryRun: dryRun)
    try require(store, session)
    var command = try command(store)
    let question = try question(command, store)
    if !dryRun, !yes, let question {
      guard try Confirmation.isGiven(question) else { return }
      // Leaves alone what changed since the question was shown.
      command = question.commands.first ?? command
    }
    var receipt = command.carriedOut(on: store)
    receipt.moved = receipt.moved.map(session.redaction.redact)
    try receipt.report(json: json, isNamed: isNamed, lines: lines(receipt, question, store))
  }
}

extension ServiceCommand {
  /// Carries out the command, with its progress where standard error is a terminal.
  fileprivate func carriedOut(on store: SyncStore) -> Receipt {
    StoppableCommand.during { continues in run(on: { store }) { continues($0.done, $0.total) } }
  }
}
