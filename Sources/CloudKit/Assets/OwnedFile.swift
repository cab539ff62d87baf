internal import Foundation
internal import Synchronization

/// A file that CloudKit made and that is removed with the last object that owns it.
final class OwnedFile: Sendable {
  let url: URL

  private let folder: AssetFolder
  private let isHandedOut = Atomic(false)

  /// Makes an empty file that nobody but this user can read.
  ///
  /// - Throws: `CKError.internalError` where it cannot be made.
  init(in folder: AssetFolder) throws(CKError) {
    self.folder = folder
    url = folder.newFile()
    let descriptor = open(url.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CKError(.internalError, "No file for an asset can be made: \(String(cString: strerror(errno))).")
    }
    close(descriptor)
  }

  /// Notes that somebody outside knows the address.
  func handOut() { isHandedOut.store(true, ordering: .relaxed) }

  deinit {
    let path = url.path
    guard isHandedOut.load(ordering: .relaxed), folder.place.grace > .zero else {
      unlink(path)
      return
    }
    // The compiler releases an asset after its last use, which in much code for Apple's framework is the reading of its
    // address: the file has to be there when it is opened a moment later.
    let seconds = Double(folder.place.grace.components.seconds)
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + seconds) { [folder] in
      withExtendedLifetime(folder) { _ = unlink(path) }
    }
  }
}
