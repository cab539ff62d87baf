/// The faults that the demo can inject.
@MainActor
package protocol DemoControls {
  var hints: [DemoHint] { get }
  /// Injects the fault of a key and returns the message to show.
  func press(_ key: Character) -> String
}

/// A fault of the demo, with its key.
package struct DemoHint: Hashable, Sendable {
  let key: Character
  let label: String

  package init(key: Character, label: String) { (self.key, self.label) = (key, label) }
}
