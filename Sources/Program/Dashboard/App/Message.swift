import CloudService
package import CloudSync
import TerminalUI

/// Everything that can happen to the dashboard.
enum Message: Sendable {
  /// Keys that were typed, all that were there at once.
  case keys([Key])
  /// The mouse was used on something that the last frame shows.
  case pointed(Mouse.Action, Target)
  case resized
  /// The world has changed: other data, or the progress of a command.
  case changed
  case receipt(Receipt)
  /// Another store is shown, because its file was replaced.
  case replaced
  /// A moment that was asked for has come.
  case tick
  /// A signal asks the program to stop, as Ctrl-Z does in other programs.
  case stopAsked
  /// `commandLine`: the command line that does the same as what the text is about; nil if there is none.
  case said(String, isError: Bool, commandLine: String? = nil)
  /// How far something is, in place of the last such text.
  case progressed(String)
  case ended(Dashboard.End)
}

/// An action that `Runtime` carries out for the app.
enum Effect: Hashable, Sendable {
  case give(ServiceCommand)
  case stopSyncing
  case copy(String)
  /// Copies an operation as a block for a ticket.
  case copyTicket(Int64)
  /// Writes rows to a file.
  case export(Export)
  case nextTheme
  /// Reads the configuration file and the theme again.
  case reload
  case redraw
  case suspend(wholeGroup: Bool)
  case injectFault(Character)
  case quit(Dashboard.End)
}

/// An action that a screen requests after a command.
enum Step: Sendable {
  case effect(Effect)
  case push(any Screen)
  case ask(CommandQuestion)
  case pop
  /// Ends the dashboard.
  case quit
  /// Ends the dashboard as Ctrl-C does.
  case interrupt
  /// Shows a screen in place of all above the overview.
  case show(any Screen)
  /// Injects a fault of the demo.
  case fault(Character)
  case notice(String)
  /// Why a key does nothing now, which the view of messages does not keep.
  case failure(String)
  /// Runs another command, as the palette does.
  case run(CommandID)
  /// Focuses a pane of the overview, with everything above it closed.
  case focus(Pane)
  /// Shows only operations in these states, in the queue on top; nil: the causes.
  case tab(Set<OperationState>?)
  /// Shows these fields in columns, in the list of records below the top.
  case columns([String])
}

extension Step {
  /// Whether it acts on all rows that a list selects. A frozen screen does not show how many these are now.
  var isAboutAll: Bool {
    switch self {
    case .effect(.give(.perform(_, .listing, _, _))), .effect(.give(.undoAll)): true
    case .ask(let question): question.isAboutAll
    default: false
    }
  }
}

/// The rows that an export writes.
package enum Export: Hashable, Sendable {
  case operations([Int64])
  case allOperations(QueueListing, except: Set<Int64>)
  case records([RecordKey])
  case allRecords(RecordListing, except: Set<RecordKey>)
  case events([EventRow])
  case allEvents(EventListing, except: Set<Int64>)
}

/// A message about what happened.
struct Notice: Hashable, Identifiable, Sendable {
  /// Counts the messages of this run.
  var id: Int
  /// Milliseconds since 1970.
  var at: Int64
  var text: String
  var isError: Bool
  /// The command line that does the same as what it is about; nil if there is none.
  var commandLine: String?

  /// When the footer shows it no longer, in milliseconds since 1970.
  var until: Int64 { at + (isError ? 20_000 : 6_000) }
}
