public import ArgumentParser
import CloudKit
import CloudService
public import CloudSync
import Dashboard
import Facts
import TerminalUI

/// `cktop conflicts`.
struct ConflictsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts",
    abstract: "List and resolve conflicts: records changed here and on the server.",
    subcommands: [
      ConflictsList.self, ConflictsShow.self, ConflictsResolve.self, ConflictsDropped.self, ConflictsUndo.self,
    ],
    defaultSubcommand: ConflictsList.self
  )
}

/// `cktop conflicts list`.
struct ConflictsList: Verb {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List all conflicts, oldest first.")

  @Flag(help: .json("Print one JSON object per line.", Conflict.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let reader = try session.reader()
    let zones = try reader.store.zoneTitles()
    var listing = ListPrinter(json ? nil : Self.table)
    try listing.print { (page: inout PrintedPage<Int64>) in
      try reader.view { view in
        try view.conflicts(after: page.last ?? 0, limit: page.limit) {
          page.add(json ? [$0.json.line] : $0.cells(zones), at: $0.id)
        }
      }
    }
  }

  private static var table: TextTable {
    TextTable([
      .numbers("ID"), .shrinking("TYPE"), .shrinking("NAME"), .shrinking("ZONE"), "VERSION", .shrinking("FIELDS"),
    ])
  }
}

extension Conflict {
  /// The conflict as a row of the table.
  fileprivate func cells(_ zones: ZoneTitles) -> [String] {
    let deletion = isDeletedOnServer ? "(deleted on the server) " : ""
    let fields = deletion + fields.map(\.name).joined(separator: ", ")
    return [String(id), type, key.name, zones[key.zoneKey], version, kind == .delete ? "(deleted here)" : fields]
  }
}

/// `cktop conflicts show`.
struct ConflictsShow: Verb {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one conflict, field by field.")

  @Argument(help: "The conflict's number.", transform: { try VersionedID.number($0, from: "cktop conflicts list") })
  var id: Int64
  @Flag(help: .json("Print one JSON object.", Conflict.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    guard let conflict = try session.reader().view({ try $0.conflict(id) }) else { throw CommandFailure.noConflict(id) }
    OutputFile.standard.lines(json ? [conflict.json.line] : conflict.lines.map(\.visible))
  }
}

extension Conflict {
  /// The conflict for people, field by field.
  var lines: [String] {
    let format = Format()
    return ["conflict \(id): \(type) \(key.name) in zone \(key.zoneKey.title), version \(version)", "  \(cause.text)"]
      + edits { format.time($0, now: SyncStore.currentTime) }.map { "  \($0.line.plain)" }
      + fields.map { $0.line(format) }
  }
}

/// `cktop conflicts resolve`.
struct ConflictsResolve: SelectingVerb {
  static let printed = Receipt.resolution.shape
  static let configuration = CommandConfiguration(
    commandName: "resolve",
    abstract: "Resolve conflicts: one side for all fields, others for some.",
    discussion: """
      Name conflicts by number, or select them with --where or --all. The result is enqueued; nothing is sent before the \
      next sync. 'cktop conflicts undo' opens a conflict again; its help says until when.

      With the version that 'conflicts list' or 'show' printed, a conflict that changed since is left alone and shown as it \
      is now, and the exit code is 1. Without one, the conflict is resolved as it is now.
      """
  )

  @OptionGroup var selection: QueueSelection<Self>
  @Option(
    help: ArgumentHelp("The version of the one conflict that is named; or write ID@VERSION.", valueName: "version")
  )
  var version: VersionArgument?
  @Option(help: "Whose values the fields get: local, server, base or newest.") var take: ConflictSide
  @Option(
    name: .customLong("field"),
    help: ArgumentHelp("Another side for one field. May be repeated.", valueName: "name=side")
  )
  var fields: [String] = []
  @OptionGroup var options: StoreOptions

  func validate() throws {
    if version != nil, selection.ids.count != 1 {
      throw ValidationError("--version needs exactly one conflict; write ID@VERSION")
    }
  }

  var dryRun: Bool { selection.dryRun }
  var yes: Bool { selection.yes }
  var json: Bool { selection.json }

  func check() throws {
    _ = (try choices(), try versions(), try selection.selection(of: "conflicts"))
  }

  func require(_ store: SyncStore, _ session: Session) throws {
    guard let id = one, try versions()[id] == nil, try store.view({ try $0.conflict(id) }) == nil else { return }
    throw CommandFailure.noConflict(id)
  }

  func command(_ store: SyncStore) throws -> ServiceCommand {
    let (choices, named) = (try choices(), try versions())
    if let one { return .resolve(one, take: take, fields: choices, version: named[one], dryRun: dryRun) }
    var found = named.mapValues(Optional.some)
    switch try selection.selection(of: "conflicts") {
    case .ids(let ids): for id in ids where found[id] == nil { found.updateValue(nil, forKey: id) }
    // Conflicts that are found later are not included.
    case let chosen:
      let filter: QueueFilter? = if case .matching(let filter, _) = chosen { filter } else { nil }
      for (id, version) in try store.conflictVersions(matching: filter) { found[id] = version }
    }
    return .resolveAll(found, take: take, fields: choices, dryRun: dryRun)
  }

  func question(_ command: ServiceCommand, _ store: SyncStore) -> CommandQuestion? {
    guard selection.ids.isEmpty, case .resolveAll(let found, let side, let fields, false) = command else { return nil }
    return found.isEmpty ? nil : .resolve(found, take: side, fields: fields)
  }

  func lines(_ receipt: Receipt, _ question: CommandQuestion?, _ store: SyncStore) -> [String] {
    guard dryRun else { return [] }
    return receipt.resolutions.flatMap { conflict, resolution in
      (one == nil ? ["conflict \(conflict.id)"] : []) + resolution.lines
    }
  }

  /// The one conflict that is named; nil if there are several, or a filter.
  private var one: Int64? { selection.ids.count == 1 ? selection.ids[0].id : nil }

  /// The versions of the named conflicts.
  private func versions() throws(CommandFailure) -> [Int64: String] {
    try VersionedID.versions(selection.ids + (one.map { [VersionedID(id: $0, version: version?.text)] } ?? []))
  }

  private func choices() throws(CommandFailure) -> [String: ConflictSide] {
    var choices: [String: ConflictSide] = [:]
    for text in fields {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let side = ConflictSide(rawValue: parts[1]), side != .newest else {
        throw .usage("'\(text.excerpt)' chooses no side; write --field NAME=local, NAME=server or NAME=base")
      }
      guard choices.updateValue(side, forKey: parts[0]) == nil else {
        throw .usage("field \(parts[0]) is chosen twice; give each field once")
      }
    }
    return choices
  }
}

extension Resolution {
  /// Each field with the value to be sent, or that is dropped.
  fileprivate var lines: [String] {
    func lines(_ changes: FieldChanges?, _ end: String) -> [String] {
      guard let changes else { return [] }
      return changes.names.sorted().map { "  \($0): \(changes[$0]?.text(Format()) ?? "(cleared)")\(end)" }
    }
    return lines(left, "") + lines(dropped, " is dropped")
  }
}

extension ConflictSide: ExpressibleByArgument {}
