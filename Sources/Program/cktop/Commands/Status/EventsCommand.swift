import ArgumentParser
import CloudSync
import Facts
import Foundation
import TerminalUI

/// `cktop events`.
struct EventsCommand: Verb {
  static let configuration = CommandConfiguration(
    commandName: "events",
    abstract:
      "Print what happened, oldest first: syncs that changed something, errors, merges, conflicts and commands.",
    discussion: """
      A sync that changed nothing leaves no event. One that runs once, as cktop sync does, has its start and its end; the \
      syncs of a process that keeps syncing share a line while they follow one another within 5 seconds, for half a \
      minute at most. The store keeps about the newest 1,000 of each kind.
      """
  )

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "Select events, for example \"kind = 'error' and age < 1h\".",
      discussion: """
        SQL-like over kind, zone, operation, by, age, text with = != < <= > >= like in is null and or not ( ). Text is in \
        single quotes, ages are written 90s 5m 1h 2d. Kinds: \(Event.kinds.joined(separator: ", ")).
        """,
      valueName: "expr"
    )
  )
  var expression: String?
  @Flag(help: "Keep printing events as they happen, until stopped.") var follow = false
  @OptionGroup var limit: LimitOption
  @Flag(help: .json("Print one JSON object per line.", EventRow.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    var listing = EventListing()
    if let expression {
      listing.filter = .expression(try QueueFilter(parsing: expression, of: .events), text: expression)
    }
    let reader = try session.reader()
    var last: Int64 = 0
    /// Prints what is new; the first time the newest that are asked for.
    func printNew(_ limit: Int?) throws {
      let (newest, events) = try reader.view { view in
        (try view.lastEvent(), try view.events(listing, after: last, limit: limit))
      }
      last = newest
      print(events)
    }
    try printNew(limit.rows)
    guard follow else { return }
    let store = reader.store
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let commits = store.commits()
    let relay = Task { for await _ in commits { continuation.yield() } }
    let signals = StopSignals { continuation.finish() }
    defer {
      relay.cancel()
      withExtendedLifetime(signals) {}
    }
    continuation.yield()
    for await _ in changes {
      guard !store.isReplaced else {
        throw CommandFailure("the store file was replaced or deleted; start again for the new one", .storeUnusable)
      }
      try printNew(nil)
    }
  }

  /// - Parameter events: newest first.
  private func print(_ events: [EventRow]) {
    let events = events.reversed()
    if json { return OutputFile.standard.lines(events.map(\.json.line)) }
    let (format, now) = (Format(), SyncStore.currentTime)
    OutputFile.standard.lines(events.map { $0.line(format, now: now) })
  }
}

extension EventRow {
  /// The event as a line of text.
  func line(_ format: Format, now: Int64) -> String {
    return "\(format.time(at, now: now))  \(kind.padding(to: 11))\(message)\(actor.map { " (by \($0))" } ?? "")".visible
  }
}

extension EventRow: PrintedObject {
  static let jsonFields: JSONFields<Self> = [
    "id": .integer(\.id), "at": .time(\.at), "kind": .text(\.kind), "text": .text(\.message),
    "operation": .integer(\.operation), "zone": .text(\.zone), "by": .text(\.actor),
  ]
}
