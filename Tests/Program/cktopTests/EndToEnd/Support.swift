import Foundation
import TestSupport

extension TemporaryFolder {
  /// An environment in which nothing of the user's is found.
  var environment: [String: String] {
    [
      "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": path("home"), "XDG_CONFIG_HOME": path("config"),
      "XDG_STATE_HOME": path("state"), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
    ]
  }

  /// Writes a file and returns its path.
  func write(_ text: String, to name: String) throws -> String { try file(name, text).path(percentEncoded: false) }
}

/// A program under test: it lies beside the test bundle.
enum Binary {
  struct NotFound: Error {
    let folder: String
  }

  /// The binary that the environment names as `CKTOP`, such as the release product; else the one beside the test bundle.
  static func cktop() throws -> URL {
    guard let path = ProcessInfo.processInfo.environment["CKTOP"], !path.isEmpty else { return try named("cktop") }
    // Programs run in folders of their own, where a relative path would name nothing.
    let file = URL(fileURLWithPath: path).absoluteURL
    guard FileManager.default.isExecutableFile(atPath: file.path) else { throw NotFound(folder: path) }
    return file
  }

  static func named(_ name: String) throws -> URL {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/" {
      let file = folder.appending(path: name)
      var isDirectory: ObjCBool = false
      if FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory), !isDirectory.boolValue {
        return file
      }
      folder.deleteLastPathComponent()
    }
    throw NotFound(folder: CommandLine.arguments[0])
  }
}
