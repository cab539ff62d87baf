import Foundation

/// The person who gives commands on this machine.
package enum Operator {
  /// The name of this process's user, which is stored with each command.
  package static let name: String = {
    let name = NSUserName()
    return name.isEmpty ? "user \(getuid())" : name
  }()
}
