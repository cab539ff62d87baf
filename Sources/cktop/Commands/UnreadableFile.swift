import Facts
import Foundation

extension CommandFailure {
  /// The failure for a file that cannot be read.
  ///
  /// - Parameter reason: the reason if the file exists and its permissions allow reading it.
  static func cannotRead(_ path: String, _ reason: String = "it is not text in UTF-8", remedy: String)
    -> CommandFailure
  {
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
    let obstacle: String? =
      if !exists {
        "it does not exist"
      } else if isFolder.boolValue {
        "it is a folder"
      } else if !FileManager.default.isReadableFile(atPath: path) {
        "permission is denied"
      } else {
        nil
      }
    return .usage("\(path.excerpt) cannot be read: \(obstacle ?? reason); \(remedy)")
  }
}
