import CloudService
import CloudSync
import Facts

extension CommandProgress {
  /// The command in the present: "Retrying".
  var text: String {
    switch command {
    case .perform(let verb, _, _, _): "\(verb.rawValue)ing".replacing("eing", with: "ing").sentence
    case .undo, .undoAll: "Restoring"
    default: "Working"
    }
  }
}
