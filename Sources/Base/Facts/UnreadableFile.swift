import Foundation

extension Error {
  /// The system's reason why a file cannot be used. Foundation has texts for few errors of the system, and numbers for
  /// the others.
  package var fileReason: String {
    let error = self as NSError
    let cause = error.domain == NSPOSIXErrorDomain ? error : error.userInfo[NSUnderlyingErrorKey] as? NSError
    guard let cause, cause.domain == NSPOSIXErrorDomain else { return error.localizedDescription.withoutFullStop }
    return String(cString: strerror(Int32(cause.code)))
  }
}

extension CommandFailure {
  /// The failure for a file that cannot be read.
  ///
  /// - Parameter reason: the reason if the file exists and its permissions allow reading it.
  package static func cannotRead(_ path: String, _ reason: String = "it is not text in UTF-8", remedy: String)
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
