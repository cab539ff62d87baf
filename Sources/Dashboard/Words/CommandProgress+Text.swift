import CloudService
import CloudSync

extension CommandProgress {
  /// The command in the present: "Retrying".
  var text: String {
    switch command {
    case .perform(.retry, _, _): "Retrying"
    case .perform(.discard, _, _): "Discarding"
    case .perform(.pause, _, _): "Pausing"
    case .perform(.resume, _, _): "Resuming"
    case .undo, .undoAll: "Restoring"
    default: "Working"
    }
  }
}
