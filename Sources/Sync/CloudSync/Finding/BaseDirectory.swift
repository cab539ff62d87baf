import Foundation

/// A base directory of the XDG standard.
package enum BaseDirectory: String {
  case config = "XDG_CONFIG_HOME"
  case state = "XDG_STATE_HOME"

  /// Returns the directory's path. The standard requires that relative ones are ignored.
  package func path(_ environment: [String: String]) -> String {
    if let path = environment[rawValue], path.hasPrefix("/") { return path }
    let home = Self.home(environment)
    return switch self {
    case .config: "\(home)/.config"
    case .state: "\(home)/.local/state"
    }
  }

  /// Returns the user's home directory.
  package static func home(_ environment: [String: String]) -> String {
    environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
  }
}
