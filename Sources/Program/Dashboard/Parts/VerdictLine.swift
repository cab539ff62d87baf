import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

extension Verdict.Urgency {
  var role: StyleRole {
    switch self {
    case .act: .error
    case .look, .waits: .warning
    case .fine: .ok
    }
  }

  /// The meaning of the mark.
  var meaning: String {
    switch self {
    case .act: "act now"
    case .look: "look"
    case .waits: "waits"
    case .fine: "fine"
    }
  }
}

extension Verdict {
  /// A key that helps, with its label and what it does.
  struct Help: Hashable, Sendable {
    var key: Key
    var label: String
    var command: CommandID
  }

  /// The keys that help in this state. On the overview they win over every other meaning.
  func help(isReadOnly: Bool, _ keys: KeyMap) -> [Help] {
    func help(_ label: String, _ command: CommandID) -> Help {
      Help(key: keys.key(of: command), label: label, command: command)
    }
    return switch self {
    case .unreadable: [help("quit", .quit)]
    case .wrongAccount, .blocked, .signedOut(_, true): [help("account", .accountView)]
    case .signedOut: [help("copy URL", .copy)]
    case .decisionNeeded: [help("decide", .zonesView)]
    case .failed(_, let top):
      // What the server rejects for a field it rejects again.
      [help("show them", .problems)]
        + (isReadOnly ? [] : [top?.isFieldRejected == true ? help("edit", .edit) : help("retry all", .retryAll)])
    case .conflicts: [help("resolve", .conflicts)]
    case .paused: isReadOnly ? [] : [help("resume", .pauseAll)]
    case .notSyncing: isReadOnly ? [] : [help("sync once", .syncOnce), help("keep syncing", .keepSyncing)]
    case .offline(_, _, nil, _): []
    case .offline, .retrying: isReadOnly ? [] : [help("try now", .flush)]
    case .neverSynced, .outOfDate: isReadOnly ? [] : [help("sync once", .syncOnce)]
    case .partlyPaused(_, _, let rules): rules.isEmpty ? [help("queue", .queueView)] : [help("pauses", .pausesView)]
    case .inSync(_, let dropped): dropped > 0 ? [help("show them", .undoView)] : []
    case .storeFull, .sending, .throttled, .waitingForApp, .fetching: []
    }
  }
}

extension World {
  /// The verdict as the top line has it: the mark, the label, and what else holds.
  func badge(width: Int) -> (text: String, role: StyleRole) {
    guard let verdicts else { return ("loading…", .dim) }
    var text = verdicts.badge(width: width)
    if case .sending(let done, let total, _, _) = verdicts.first, total > 0 {
      text += " \(Format.number(done))/\(Format.number(total))"
    }
    return (text, verdicts.urgency.role)
  }

  /// The keys that help now.
  var help: [Verdict.Help] {
    let help = verdict?.help(isReadOnly: isReadOnly, keys) ?? []
    return help.filter { $0.command != .copy || signInURL != nil }
  }

  /// The page on which the user signs in; nil where it is not known.
  var signInURL: String? {
    guard case .signedOut = verdict else { return nil }
    return status?.signInURL
  }

  /// The verdict as a sentence, and what else holds.
  var sentence: String {
    guard let verdicts else { return "Reading the store…" }
    if case .signedOut(let unsent, let lacksCredential) = verdicts.first, lacksCredential || signInURL != nil {
      let page = signInURL == nil ? "" : "sign in, "
      let safe = unsent == 0 ? "" : " \(Words.changes(unsent, "wait"))."
      let variables = (status?.identity.map(StoreOwner.user) ?? .none).variables
      return "\(verdicts.first.label.sentence): \(page)set \(variables) and restart cktop.\(safe)"
    }
    if case .notSyncing(_, _, let stall?) = verdicts.first {
      return "\(verdicts.sentence(format, now: now)); run \(stall.remedy)."
    }
    if let syncFailure, case .notSyncing = verdicts.first { return "Syncing stopped: \(syncFailure)" }
    return "\(verdicts.sentence(format, now: now))."
  }
}

/// The second line of the overview: what is the matter, and the keys that help.
struct VerdictLine: Sendable {
  let world: World

  func draw(on frame: inout Frame, in area: Rect) {
    guard !area.isEmpty else { return }
    let glyphs = frame.grid.glyphs
    var keys = StyledText([])
    var targets: [(command: CommandID, cells: Range<Int>)] = []
    for hint in world.help {
      let one: StyledText = [.init(hint.key.name, .key), .init(" \(hint.label)", .keyLabel)]
      let longer = keys.spans.isEmpty ? one : keys + "  " + one
      // The sentence keeps most of the line.
      guard longer.cells(in: glyphs) <= area.width / 2 else { break }
      keys = longer
      let end = longer.cells(in: glyphs)
      targets.append((hint.command, end - one.cells(in: glyphs)..<end))
    }
    let width = keys.cells(in: glyphs)
    for (command, cells) in targets {
      let x = area.maxX - 1 - width + cells.lowerBound
      frame.addTarget(.command(command), in: Rect(x: x, y: area.y, width: cells.count, height: 1))
    }
    frame.grid.put(keys, in: Rect(x: area.x, y: area.y, width: area.width - 1, height: 1), .trailing)
    let room = Rect(x: area.x + 1, y: area.y, width: area.width - width - 3, height: 1)
    frame.grid.put(StyledText(world.sentence), in: room)
  }
}

/// The top line: where we are and how it is.
struct TopLine: Sendable {
  let world: World
  /// The titles of the open views, from the overview on.
  let path: [String]

  func draw(on grid: inout Grid, in area: Rect) {
    guard !area.isEmpty else { return }
    grid.fill(area, Style(.banner))
    // The place needs room, too: production must not look like development.
    let (text, role) = world.badge(width: max(24, area.width / 2))
    let right = StyledText("\(text) ", role).on(.banner)
    grid.put(right, in: area, .trailing)
    let room = Rect(x: area.x, y: area.y, width: area.width - right.cells(in: grid.glyphs) - 1, height: 1)
    let isProduction = world.scope.environment == "production"
    let crumbs = path.map { "  ›  \($0)" }.joined()
    var spans: [StyledText.Span] = [.init(" cktop", .strong)]
    let place = "  \(world.scope.container)  "
    let rest = "\(world.scope.database.rawValue)\(world.isReadOnly ? "  read-only" : "")\(crumbs)"
    let needed = 6 + cells(place) + cells(rest) + 14
    // If there is little room, the view is shown instead of the container.
    if needed <= room.width || path.isEmpty { spans.append(.init(place)) } else { spans.append(.init("  ")) }
    spans.append(isProduction ? .init(" PRODUCTION ", style: Style(.badge)) : .init("development", .dim))
    spans.append(.init("  \(rest)"))
    grid.put(
      StyledText(
        spans.map {
          $0.style.role == .badge
            ? $0
            : .init(
              $0.text,
              style: Style($0.style.role == .text ? .banner : $0.style.role, $0.style.attributes, on: .banner)
            )
        }
      ),
      in: room
    )
  }
}
