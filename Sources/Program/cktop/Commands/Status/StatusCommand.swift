import ArgumentParser
import CloudService
import CloudSync
import Facts
import Foundation

/// `cktop status`.
struct StatusCommand: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the state of the store: the verdict, the account, the queue, the records.",
    discussion: """
      Exit codes: 0 in sync or on the way, 1 something failed, 3 a person is needed or no process is syncing although \
      changes wait. A store that does not exist yet is reported as empty and is not created.

      With --max-age, the code is an alarm, also on a machine that syncs by a timer: 3 if a change is unsent for longer, \
      whatever holds it except a person's pause, or 5 where a process is syncing and only the cloud is in the way. Until \
      then it is no problem that no process is syncing, or that changes wait for the app. Other problems keep their \
      codes. A store that is missing is 4 if an option, the environment or the configuration names its file, or if files \
      of it are left; then --prometheus prints nothing and ends with 4, too.

      With --at: what the syncing processes stored about that minute, and its events; as text, or as JSON with --json. The \
      exit code is then 0.
      """
  )

  /// How to print it.
  enum Form: String, EnumerableFlag {
    case json, oneline, prometheus

    static func help(for value: Form) -> ArgumentHelp? {
      switch value {
      case .json: .json("Print one JSON object.", StatusObject.shape)
      case .oneline: "Print one line, for a status bar; a terminal cuts it to its width, a pipe gets all of it."
      case .prometheus: "Print metrics in Prometheus' text format."
      }
    }
  }

  @Flag(exclusivity: .exclusive) var form: Form?
  @Option(
    help: ArgumentHelp(
      "Exit with 3 or 5 if a change is unsent for longer, and with 0 while all are younger and nothing is wrong.",
      valueName: "15m"
    ),
    transform: Self.milliseconds
  )
  var maxAge: Int64?
  @Option(
    help: .json(
      "Show how it was at this minute of the last 24 hours, in local time.",
      MomentObject.shape,
      valueName: "02:47"
    ),
    transform: MinuteOfDay.init
  )
  var at: MinuteOfDay?
  @OptionGroup var options: StoreOptions

  func validate() throws {
    guard at != nil else { return }
    if maxAge != nil || ![nil, .json].contains(form) {
      throw ValidationError("--at goes with --json, not with --oneline, --prometheus or --max-age")
    }
  }

  /// The milliseconds of an age such as `15m`.
  private static func milliseconds(_ text: String) throws -> Int64 {
    guard let age = FilterLexer.age(text) else {
      throw ValidationError("'\(text)' is not an age; write one such as 90s, 15m, 1h or 2d")
    }
    return age
  }

  func run(_ session: Session) async throws {
    if let at { return try printMoment(at, session.reader()) }
    let scope = try session.scope()
    let reader = try session.storeIfMade().map(session.reader)
    // An alarm and metrics distinguish a store that is gone from one that was never made.
    if reader == nil, maxAge != nil || form == .prometheus { try session.requireStoreIfKnown() }
    var (status, failures, limit) =
      try reader?.view { view in
        let status = try view.status()
        let limit = try maxAge.map { AgeLimit(milliseconds: $0, oldestAt: try view.oldestUnsentAt(status)) }
        return (status, try view.failuresForPerson(), limit)
      } ?? (session.missingStatus, 0, maxAge.map { AgeLimit(milliseconds: $0) })
    if reader == nil { status.storageTrouble = session.storageTrouble }
    let account = AccountState(status, credential: try session.credentialName())
    let object = StatusObject(status: status, storePath: session.storePath, scope: scope, account: account)
    switch form {
    case .json: OutputFile.standard.line(object.json.line)
    case .oneline: OutputFile.standard.line(StatusText(object).line(width: OutputFile.standard.width))
    case .prometheus:
      let lines = StatusMetrics(status, object.verdict).text.split(separator: "\n")
      OutputFile.standard.lines(lines.map { String($0).visible })
    case nil: OutputFile.standard.lines(StatusText(object).lines.map(\.visible))
    }
    let canSync = status.accepts(account.credential)
    let code = status.code(hasCredential: canSync, failedForPerson: failures, limit: limit)
    try code.end()
  }

  private func printMoment(_ minute: MinuteOfDay, _ reader: StoreReader) throws {
    let (format, now) = (Format(), SyncStore.currentTime)
    let (moment, events) = try reader.view { view in
      let moment = Moment(minute.latest(before: now), try view.verdicts(), try view.throughput())
      return (moment, Array(try view.events(moment.events, limit: nil).reversed()))
    }
    if form == .json { return OutputFile.standard.line(MomentObject(moment: moment, events: events).json.line) }
    let verdicts = moment.spans.map { $0.text(format, now: now) }
    OutputFile.standard.lines(
      ["\(format.clock(moment.at, now: now))  \(moment.counts.words)"]
        + (verdicts.isEmpty ? ["Not known: no syncing process had noted a verdict"] : verdicts)
        + events.map { $0.line(format, now: now) }
    )
  }
}
