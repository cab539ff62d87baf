/// The keys of the demo, which inject faults.
@MainActor
package protocol DemoControls {
  var hints: [DemoHint] { get }
  /// Runs the key's action and returns the message to show.
  func press(_ key: Character) -> String
  /// Called by the dashboard's timer.
  func tick(isPaused: Bool)
}

/// A key of the demo in the footer and the help.
package struct DemoHint: Hashable, Sendable {
  let key: Character
  let label: String
  let help: String

  package init(key: Character, label: String, help: String) {
    self.key = key
    self.label = label
    self.help = help
  }
}
