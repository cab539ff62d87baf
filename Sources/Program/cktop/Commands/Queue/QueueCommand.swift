import ArgumentParser
import CloudService
import CloudSync
import Dashboard
import Facts

/// `cktop queue`.
struct QueueCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queue",
    abstract: "List changes that are not on the server yet, and act on them.",
    subcommands: [
      QueueListVerb.self, QueueCauses.self, QueueShow.self, QueueRetry.self, QueueEdit.self, QueueDiscard.self,
      QueuePause.self,
      QueueResume.self, QueuePauses.self,
      QueueFlush.self, QueueExport.self, QueueSalvage.self,
    ],
    defaultSubcommand: QueueListVerb.self
  )
}

/// `--where`.
struct WhereOption: ParsableArguments {
  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "Select operations, for example \"state = 'failed' and age > 1h\".",
      discussion: """
        SQL-like over state, type, zone, owner, name, operation, error, attempts, age, message, payload and fields.NAME with \
        = != < <= > >= like in is null and or not ( ). Text is in single quotes, ages are written 90s 5m 1h 2d. \
        "fields.city = 'Lisbon'" compares a value that the change sets, and the payload is the change as JSON: "payload like \
        '%Lisbon%'". Both pass over the queue, and never see an encrypted value.
        """,
      valueName: "expr"
    )
  )
  var expression: String?

  /// The expression, checked.
  func filter() throws(FilterError) -> QueueFilter? {
    guard let expression else { return nil }
    return try QueueFilter(parsing: expression)
  }

  func listing(in order: QueueListing.Order = .worst) throws(FilterError) -> QueueListing {
    QueueListing(matching: try filter(), text: expression ?? "", order: order)
  }
}

/// The order of operations in a list.
enum QueueOrder: String, CaseIterable, ExpressibleByArgument {
  case age, newest, state

  var order: QueueListing.Order {
    switch self {
    case .age: .oldest
    case .newest: .newest
    case .state: .worst
    }
  }
}

/// Which operations to print, in which order: what the dashboard's queue can show.
struct QueuePage: ParsableArguments {
  @OptionGroup var condition: WhereOption
  @Option(help: "The order: age (oldest first), newest, or state (worst first, as in the dashboard).")
  var sort = QueueOrder.age
  @OptionGroup var limit: LimitOption

  /// Prints the operations, some hundreds in each transaction.
  ///
  /// - Parameters:
  ///   - size: the number of operations that are read at once.
  ///   - table: a table without rows; nil for JSON.
  ///   - cells: adds the cells of rows, or their lines of JSON.
  func print(
    _ session: Session,
    atOnce size: Int,
    _ table: TextTable?,
    _ cells: ([QueueRow], StoreView, inout PrintedPage<Int64>) throws -> Void
  ) throws {
    let listing = try condition.listing(in: sort.order)
    let reader = try session.reader()
    var (search, output, read, hasTitles) = (QueueSearch(listing), ListPrinter(table), 0, false)
    while read < limit.count, !search.isOver {
      // Printed in the same transaction: later, a row may no longer match.
      try reader.view { view in
        try search.step(in: view)
        while read < min(search.count, limit.count) {
          let count = min(size, min(search.count, limit.count) - read)
          var page = PrintedPage<Int64>()
          try cells(search.rows(offset: read, limit: count, in: view), view, &page)
          output.print(page)
          (read, hasTitles) = (read + count, true)
        }
      }
    }
    if !hasTitles { output.print(PrintedPage<Int64>()) }
  }
}

/// `cktop queue list`.
struct QueueListVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List operations, oldest first unless --sort says otherwise."
  )

  @OptionGroup var page: QueuePage
  @Flag(help: .json("Print one JSON object per line.", OperationLine.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let (format, now) = (Format(), SyncStore.currentTime)
    var known: ZoneTitles? = json ? ZoneTitles([]) : nil
    try page.print(session, atOnce: ListPrinter.pageSize, json ? nil : Self.table) { rows, view, page in
      let zones = try known ?? ZoneTitles(view.zones().map(\.key))
      known = zones
      for row in rows { page.add(json ? [row.json.line] : row.cells(zones, format, now: now), at: row.id) }
    }
  }

  private static var table: TextTable {
    TextTable([
      .numbers("ID"), "OPERATION", .shrinking("TYPE"), .shrinking("NAME"), .shrinking("ZONE"), "STATE",
      .numbers("ATTEMPTS"), .shrinking("REASON"),
    ])
  }
}

extension QueueRow {
  /// The operation as a row of the table.
  fileprivate func cells(_ zones: ZoneTitles, _ format: Format, now: Int64) -> [String] {
    [
      String(id), Words.operation(kind.rawValue), type ?? "", key.name, zones[key.zoneKey],
      Words.state(state.rawValue), "\(attempts)/\(maxAttempts)", cause.brief(format, now: now),
    ]
  }
}

/// `cktop queue causes`.
struct QueueCauses: Verb {
  static let configuration = CommandConfiguration(
    commandName: "causes",
    abstract: "Count failed and retrying operations by cause.",
    discussion: """
      RELEASES counts the operations that wait for those of a cause, and for nothing else that failed, retries, is paused \
      or is a conflict. With --json each cause has an expression for --where that selects its operations.
      """
  )

  @OptionGroup var condition: WhereOption
  @Flag(help: .json("Print one JSON object per line.", QueueCause.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let listing = try condition.listing()
    let (causes, status) = try session.reader().view { (try $0.causes(of: listing), try $0.status()) }
    if json { return OutputFile.standard.lines(causes.map(\.json.line)) }
    if causes.isEmpty {
      // The queue may wait as a whole.
      let sentence = status.verdict(hasCredential: true).sentence(Format(), now: status.generatedAt)
      return OutputFile.standard.line("No operation failed or is retrying. \(sentence)".visible)
    }
    var table = TextTable([
      .numbers("COUNT"), "STATE", "ERROR", .shrinking("CAUSE"), .numbers("RELEASES"), "OLDEST", "NEXT",
      .numbers("FIRST"),
    ])
    let (format, now) = (Format(), SyncStore.currentTime)
    for cause in causes {
      table.append([
        Format.number(cause.count), Words.state(cause.state.rawValue), cause.code ?? "", cause.text,
        Format.number(cause.releases) + (cause.mayReleaseMore ? "+" : ""), format.time(cause.oldestAt, now: now),
        cause.nextAttemptAt.map { format.time($0, now: now) } ?? "", String(cause.first),
      ])
    }
    OutputFile.standard.lines(table.lines(width: OutputFile.standard.width))
    OutputFile.standard.lines(causes.remedies.map(\.visible))
  }
}

extension [QueueCause] {
  /// The remedies, each with the rows of the table that it is for, by their column FIRST.
  var remedies: [String] {
    var rows: [(remedy: String, first: [String])] = []
    for cause in self {
      guard let remedy = cause.cause.remedy else { continue }
      let place = rows.firstIndex { $0.remedy == remedy } ?? rows.endIndex
      if place == rows.endIndex { rows.append((remedy, [])) }
      rows[place].first.append(String(cause.first))
    }
    return rows.map { "FIRST \($0.first.joined(separator: ", ")): \($0.remedy)" }
  }
}

extension QueueCause {
  /// The server's message, else the cause in words.
  fileprivate var text: String { message.flatMap { $0.isEmpty ? nil : $0 } ?? cause.text }
}

extension QueueCause: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "state": .text(\.state.rawValue), "error": .error(\.code, \.message), "cause": .text(\.text),
    "count": .integer(\.count), "releases": .integer(\.releases), "first": .integer(\.first),
    "oldestAt": .time(\.oldestAt), "nextAttemptAt": .time(\.nextAttemptAt), "where": .text(\.filter),
  ]
}

/// `cktop queue pauses`.
struct QueuePauses: Verb {
  static let configuration = CommandConfiguration(
    commandName: "pauses",
    abstract: "List the pause rules: for everything, zones and record types.",
    discussion: """
      'queue resume --all' lifts every rule, 'queue resume --type' and 'zones resume' lift one. Operations that were paused \
      one by one are those of "queue list --where \"state = 'paused'\"".
      """
  )

  @Flag(help: .json("Print one JSON object per line.", Pause.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let pauses = try session.reader().store.pauses()
    if json { return OutputFile.standard.lines(pauses.map(\.json.line)) }
    var table = TextTable([.shrinking("PAUSED"), "SINCE", .shrinking("BY")])
    let (format, now) = (Format(), SyncStore.currentTime)
    for pause in pauses { table.append([pause.rule.text, format.time(pause.at, now: now), pause.actor ?? "unknown"]) }
    OutputFile.standard.lines(table.lines(width: OutputFile.standard.width))
  }
}

/// `cktop queue export`.
struct QueueExport: Verb {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Print operations with payload and attempts as NDJSON, with encrypted values, without credentials."
  )

  @OptionGroup var page: QueuePage
  @Flag(help: .json("No effect; the output is always JSON.", ShownOperation.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    // Payloads can be large.
    try page.print(session, atOnce: 50, nil) { rows, view, page in
      try view.details(of: rows.map(\.id)) { if let json = $1.json { page.add([json.line], at: $0) } }
    }
  }
}

/// `cktop queue salvage`.
struct QueueSalvage: Verb {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Copy every operation that can be read from a damaged store into a new one.",
    discussion: """
      The damaged store is only read. The new one has its owner, settings, pauses and asset files; a sync of it fetches the \
      local copy again, and compares each change with the server before it sends it. Where the damaged store's container, \
      environment and database cannot be read, they are those of --container, --environment and --database.

        cktop queue salvage --into rescued.sqlite && cktop sync --store rescued.sqlite
      """
  )

  @Option(
    help: ArgumentHelp("The path of the new store.", valueName: "path"),
    completion: .file(),
    transform: String.path
  )
  var into: String
  @Flag(help: .json("Print the result as a JSON object.", Salvaged.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    guard let path = session.storePath else { throw CommandFailure.usage("no store is named; give --store") }
    let settings = session.settings
    // The path of a store that is not named states what it belongs to. Elsewhere a default would be a guess.
    let takesDefaults = settings.store?.source == .standard
    func known<Value>(_ setting: Sourced<Value>) -> Value? {
      takesDefaults || setting.source != .standard ? setting.value : nil
    }
    let salvage = try SyncStore.salvage(
      path,
      into: into,
      container: settings.container?.value,
      environment: known(settings.environment)?.rawValue,
      database: known(settings.database)
    )
    let lost = salvage.known.map { max(0, $0 - salvage.saved) }
    if json {
      OutputFile.standard.line(Salvaged(saved: salvage.saved, lost: lost, store: into).json.line)
    } else {
      let rest =
        lost.map { $0 == 0 ? "none is lost" : "\(Format.number($0)) cannot be read" } ?? "its counts cannot be read"
      OutputFile.standard.line("saved \(Words.count(salvage.saved, "change")) in \(into); \(rest)".visible)
    }
    if lost != 0 { try CommandStatus.itemsFailed.end() }
  }
}

/// The result of a salvage.
struct Salvaged: PrintedObject {
  let saved: Int
  let lost: Int?
  let store: String

  static let jsonFields: JSONFields<Self> = [
    "saved": .integer(\.saved), "lost": .integer(\.lost), "store": .text(\.store),
  ]
}

/// `cktop queue flush`.
struct QueueFlush: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "flush",
    abstract: "Retry now everything that is waiting to retry.",
    discussion: """
      Failed and paused operations are left alone, and so are waits that the server asked for, unless --throttles ends them \
      as well: the server may then ask for longer ones. --throttles asks for confirmation.
      """
  )

  @Flag(help: "Also end the waits that the server asked for.") var throttles = false
  @Flag(help: "Do not ask for confirmation.") var yes = false

  @Flag(help: .json("Print what was done as a JSON object.", Receipt.flushed.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func command(_ store: SyncStore) -> ServiceCommand { .flush(throttles: throttles) }

  func question(_ command: ServiceCommand, _ store: SyncStore) -> CommandQuestion? {
    throttles ? .endThrottles : nil
  }
}
