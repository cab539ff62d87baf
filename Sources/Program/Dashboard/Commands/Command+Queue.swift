import CloudService
import CloudSync
import Facts

/// The operations that the commands of the queue act on: the marked ones, else the selected one, or those of a cause.
struct Operations {
  var selection: Selection
  /// The selected operation, if none is marked.
  var row: QueueRow?
  /// The versions that were shown.
  var versions: [Int64: String] = [:]
  /// Nil while they are being counted.
  var count: Int? = 1
  /// The zones that a retry creates again.
  var recreated: [String] = []
  var isPaused = false
  /// The list of the cause, with its filter as text.
  var cause: QueueList?

  init(_ row: QueueRow) {
    (selection, self.row, isPaused) = (.ids([row.id]), row, row.state == .paused)
    recreated = row.recreatesZone ? [row.key.zone] : []
  }

  init(_ selection: Selection) { self.selection = selection }

  /// The question before a retry of all of a cause, or one that creates zones again; nil for others.
  fileprivate var retryQuestion: CommandQuestion? {
    if let cause {
      return .retryAll(cause.listing, filter: cause.filter.text, count: count, recreated: recreated)
    }
    return recreated.isEmpty ? nil : .retry(selection, count: count ?? 0, recreated: recreated)
  }

  fileprivate var discardQuestion: CommandQuestion? {
    if let row { return .discardOne(row) }
    return count.map { .discard(selection, versions: versions, count: $0, isMarked: cause == nil) }
  }
}

extension App {
  /// Why what is about changes does nothing on the causes; nil elsewhere.
  var notOfCauses: String? { top.scopes.contains(.causes) ? CauseKind.openFirst : nil }
}

extension Command {
  static let isGone = "This operation is no longer in the queue"

  /// Leaves a command alone while nothing is selected, or the operation does not take it.
  private func ifTaken() -> Command {
    let id = id
    return unless { app, world in
      let subject = app.top.subject(world)
      guard let operations = subject.operations else { return subject.missing ?? Command.isGone }
      return operations.row.flatMap { $0.obstacle(to: id) }
    }
  }

  /// Labels a command with the number of changes of a cause.
  private func counted() -> Command {
    let title = title
    return label { app, world in
      app.top.subject(world).operations.flatMap { $0.cause == nil ? nil : "\(title) \(Format.number($0.count ?? 0))" }
    }
  }

  private static let both: KeyScope = [.queue, .operation]

  static let queue: [Command] = [
    Command(.retry, "r", "retry", "Retry the marked changes, else the selected one", both, .change).counted().ifTaken()
      .ask { $0.top.subject($1).operations?.retryQuestion }
      .run { app, world in
        guard let operations = app.top.subject(world).operations, app.use(world) else { return [] }
        return [.effect(.give(.perform(.retry, operations.selection)))]
      },
    Command(.discard, "d", "discard", "Discard the marked changes, else the selected one (asks)", both, .change)
      .footer(.inFull).counted().ifTaken().ask { $0.top.subject($1).operations?.discardQuestion }
      .run { _, _ in [.failure("Still counting; try again in a moment")] },
    Command(.retryAll, "R", "retry all", "Retry all failed or retrying ones in the filter (asks)", .queue, .change)
      .footer(.inFull)
      .unless { app, world in
        if app.notOfCauses != nil { return "\(world.keys.name(of: .retry)) retries the changes of this cause" }
        let count = app.top.queueList?.page(world).map(\.retryable) ?? world.status?.queue.retryable ?? 0
        return count == 0 ? "No change here failed or waits to be retried" : nil
      }
      .ask { app, _ in app.top.queueList.map { .retryAll($0.listing, filter: $0.filter.text) } },
    Command(.pauseThese, "P", "pause these", "Pause or resume the marked changes, else the selected one", both, .change)
      .footer(.inFull).ifTaken().notOnCauses()
      .run { app, world in
        guard let operations = app.top.subject(world).operations else { return [] }
        app.rows?.unmark()
        return [.effect(.give(.perform(operations.isPaused ? .resume : .pause, operations.selection)))]
      },
    Command(.edit, "e", "edit", "Edit the fields of the selected failed save, and send it again", both, .change)
      .unless { app, world in
        let subject = app.top.subject(world)
        guard let row = subject.change else { return subject.missing ?? isGone }
        return row.obstacle(to: .edit)
      }
      .notOnCauses().run { app, world in app.top.subject(world).change.map { [.push(EditScreen($0.id))] } ?? [] },
    Command(.causes, "C", "causes", "Group failed and retrying changes by cause", .queue).footer(.inFull)
      .label { app, _ in app.notOfCauses == nil ? nil : "close" }
      .unless { app, world in
        app.notOfCauses != nil || world.status?.queue.retryable ?? 0 > 0
          ? nil : "No change failed or waits to be retried"
      }
      .run { app, _ in app.notOfCauses == nil ? [.push(CausesScreen())] : [.pop] },
  ]
}

extension QueueRow {
  /// Whether `P` pauses or resumes the operation.
  var pauseVerb: QueueVerb { state == .paused ? .resume : .pause }

  /// Why a command does not apply to the operation, as a sentence; nil if it does.
  func obstacle(to id: CommandID) -> String? {
    func obstacle(_ verb: QueueVerb, _ what: String) -> String? {
      verb.obstacle(to: state, errorCode: errorCode).map { "\(what): \($0.text)" }
    }
    return switch id {
    case .retry: obstacle(.retry, "Not retried")
    case .discard: obstacle(.discard, "Not discarded")
    case .pauseThese: obstacle(pauseVerb, "Not paused")
    case .edit: obstacleToEdit
    default: nil
    }
  }

  /// Why the fields of the operation cannot be edited; nil if they can.
  private var obstacleToEdit: String? {
    guard kind == .save else { return "Only a save has fields to edit" }
    if let obstacle = QueueVerb.retry.obstacle(to: state, errorCode: errorCode), obstacle == .damaged {
      return "Not edited: \(obstacle.text)"
    }
    return state == .failed
      ? nil : "Only a failed change can be edited; \(Obstacle.inState(state.rawValue).text)"
  }
}
