package import Foundation
internal import Synchronization

/// A file that CloudKit created and that is removed with its last owner.
package final class OwnedFile: Sendable {
  package let url: URL

  private let folder: AssetFolder
  private let isHandedOut = Atomic(false)

  /// Creates an empty file that only this user can read.
  ///
  /// - Throws: `AssetFileError.notCreated` if it cannot be created.
  package init(in folder: AssetFolder) throws(AssetFileError) {
    self.folder = folder
    url = folder.newFile()
    let descriptor = open(url.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .notCreated("The asset file could not be created: \(String(cString: strerror(errno))).")
    }
    close(descriptor)
  }

  /// Notes that the address was handed out to a caller.
  package func handOut() { isHandedOut.store(true, ordering: .relaxed) }

  deinit {
    let path = url.path
    guard isHandedOut.load(ordering: .relaxed), folder.options.grace > .zero else {
      unlink(path)
      return
    }
    // The compiler releases an asset after its last use. Code written for Apple's framework often only reads the
    // asset's address and opens the file a moment later, so the file must still exist then.
    let seconds = Double(folder.options.grace.components.seconds)
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + seconds) { [folder] in
      withExtendedLifetime(folder) { _ = unlink(path) }
    }
  }
}
