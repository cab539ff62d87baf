import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// Account in full: problems with their remedies, and what unsent changes wait for.
struct AccountScreen: TextScreen {
  var offset = 0

  var title: String? { Pane.account.title }
  var scopes: KeyScope { [.everywhere, .moving, .syncing, .copying, .closing] }

  /// While signed out, the page to sign in at is what is copied.
  func subject(_ world: World) -> Subject {
    let label = world.signInURL == nil ? nil : "copy URL"
    return Subject(copy: Offer(label: label, [.effect(.copy(world.signInURL ?? text(world)))]))
  }

  func lines(_ world: World) -> [StyledText] {
    guard let status = world.status else { return [StyledText("loading…", .dim)] }
    var lines = advice(status, world).map { StyledText($0, .strong) } + [""]
    let server = [
      Fact("Server", world.url), Fact("Container", world.scope.container),
      Fact("Environment", world.scope.environment), Fact("Database", world.scope.database.rawValue),
    ]
    lines += (AccountPane(world).facts(status) + server).map(\.line)
    lines += ["", StyledText("UNSENT CHANGES WAIT FOR", .header)]
    let waits = Self.waits(status, world)
    if waits.isEmpty { lines.append(StyledText("Nothing: the queue is empty.", .dim)) }
    lines += waits.map {
      Fact($0.who, [.init(Words.count($0.count, $0.noun).padding(to: 17)), .init($0.how, .dim)]).line
    }
    if !status.unreadable.isEmpty { lines += ["", StyledText("NOT READABLE", .header)] }
    lines += status.unreadable.map {
      StyledText($0.summary.sentence, .error)
    }
    if world.scope.database == .public {
      let text = "This database has no change feed: changes are polled, and deletions are found by a full scan."
      lines += ["", StyledText(text, .dim)]
    }
    return lines
  }

  /// Returns what unsent changes wait for, how many they are, and how the wait ends.
  static func waits(_ status: StoreStatus, _ world: World) -> [(who: String, count: Int, noun: String, how: String)] {
    let (queue, keys) = (status.queue, world.keys)
    let ready = queue.pending + queue.inFlight - status.savesForApp
    let (ender, sending) =
      switch world.verdict {
      case .signedOut?, .wrongAccount?: ("A sign-in", "sent after the sign-in")
      case .blocked(.quota)?: ("Free space", "the storage quota is full; only deletions can be sent")
      case .blocked(.account)?: ("A permission", "the server refuses this account")
      case .decisionNeeded?:
        ("The next sync", "except in zones with deletions on hold; \(keys.name(of: .zonesView)) decides")
      default:
        (
          "The next sync",
          world.isSynced
            ? "sent automatically"
            : "no process is syncing; \(keys.name(of: .syncOnce)) or \(keys.name(of: .keepSyncing)) sends"
        )
      }
    let all = [
      ("You", queue.failed, "failed change", "\(keys.name(of: .problems)) on the overview shows what failed"),
      ("You", queue.conflicts - status.conflictsForApp, "conflict", "\(keys.name(of: .conflicts)) to resolve"),
      (
        "The app", status.savesForApp + status.conflictsForApp, "change",
        "its process has to run, or cktop sync --without-app"
      ),
      ("A retry", queue.waiting, "change", "retried automatically; \(keys.name(of: .flush)) retries now"),
      ("A resume", queue.paused, "paused change", "\(keys.name(of: .pauseThese)) in the queue resumes"),
      status.isPaused
        ? ("A resume", ready, "change", "everything is paused; \(keys.name(of: .pauseAll)) resumes")
        : (ender, ready, "change", sending),
    ]
    return all.filter { $0.1 > 0 }.map { (who: $0.0, count: $0.1, noun: $0.2, how: $0.3) }
  }

  private func advice(_ status: StoreStatus, _ world: World) -> [String] {
    switch world.verdict {
    case .wrongAccount: [world.sentence, "Use the credential of the store's user, or another store (--store)."]
    case .signedOut:
      [world.sentence] + (world.signInURL.map { ["Sign in at \($0) (\(world.keys.name(of: .copy)) copies it)."] } ?? [])
        + [
          "Unsent changes are kept in the store and follow after you have signed in."
        ]
    case .blocked(.quota):
      [world.sentence, "Free space in the user's iCloud, or let the user buy more; saves follow with the next sync."]
    case .blocked(.queries):
      [world.sentence, "Add the indexes that cktop schema infer prints to the schema, and deploy it."]
    case .blocked:
      [
        world.sentence,
        "Give the user or the key the permission in the CloudKit console; then press \(world.keys.name(of: .flush)).",
      ]
    default: status.accountProblem == nil && status.quotaProblem == nil ? ["Nothing is wrong with the account."] : []
    }
  }
}
