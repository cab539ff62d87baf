import CloudKit
import Crypto
import Facts
import Foundation
import Glibc
import JSONText

/// Copies of the files of accepted saves, in a folder beside the store, each named by the SHA-256 of its bytes.
///
/// A copy is on disk before its save is accepted, and is removed when no operation needs it.
struct AssetVault: Sendable {
  let folder: URL

  /// The number of bytes read at once.
  private static let chunk = 1 << 20

  /// The path is not a regular file.
  struct NoFile: Error {}

  /// The file has more bytes than an asset can have.
  struct TooLarge: Error { var size: Int64 }

  /// The process or the machine has no file descriptor left.
  struct TooManyOpenFiles: Error {}

  /// The content of a file.
  struct Content: Hashable {
    var digest: String
    var size: Int64
  }

  /// The path of the copy of these bytes.
  func file(_ digest: String) -> URL { folder.appendingPathComponent(digest) }

  /// Hashes a file without copying it.
  static func content(of file: URL) throws -> Content {
    try read(file) { _ in }
  }

  /// Copies a file; when this returns, the copy survives a power failure.
  func keep(_ file: URL) throws -> Content {
    try FileSystem.makeFolder(folder)
    let incoming = folder.appendingPathComponent("incoming-\(UUID().uuidString)")
    let content = try Self.copy(file, to: incoming)
    do {
      guard rename(incoming.path, self.file(content.digest).path) == 0 else { throw Self.failure(incoming) }
      try Self.synchronize(folder)
      return content
    } catch {
      unlink(incoming.path)
      throw error
    }
  }

  /// Copies a file to a new one, only for the user's eyes, and hashes the bytes of the copy.
  static func copy(_ file: URL, to copy: URL) throws -> Content {
    let descriptor = try opened(copy, O_WRONLY | O_CREAT | O_EXCL)
    guard descriptor >= 0 else { throw failure(copy) }
    let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      let content = try read(file) { try output.write(contentsOf: $0) }
      guard fsync(descriptor) == 0 else { throw failure(copy) }
      return content
    } catch {
      unlink(copy.path)
      throw error
    }
  }

  /// Removes copies, unless one is being made.
  ///
  /// - Parameters:
  ///   - names: the copies to ask about; nil: all that there are.
  ///   - unneeded: returns those of them that are no longer needed.
  /// - Returns: whether they were removed.
  func remove(among names: [String]?, _ unneeded: ([String]) throws -> [String]) throws -> Bool {
    let done: Void? = try locked(LOCK_EX | LOCK_NB) {
      let names = try names ?? FileManager.default.contentsOfDirectory(atPath: folder.path)
      for name in try unneeded(names) { unlink(file(name).path) }
    }
    return done != nil
  }

  /// Prevents removal while copies are made and their saves are accepted.
  func whileKeeping<Value>(_ body: () throws -> Value) throws -> Value {
    try FileSystem.makeFolder(folder)
    guard let value = try locked(LOCK_SH, body) else { throw Self.failure(folder) }
    return value
  }

  /// Runs `body` under a lock of the folder; nil if there is no folder, or the lock is taken.
  @discardableResult
  private func locked<Value>(_ operation: Int32, _ body: () throws -> Value) throws -> Value? {
    let descriptor = try Self.opened(folder, O_RDONLY | O_DIRECTORY)
    guard descriptor >= 0 else { return nil }
    // Closing releases the lock.
    defer { close(descriptor) }
    guard flock(descriptor, operation) == 0 else { return nil }
    return try body()
  }

  private static func read(_ file: URL, _ take: (Data) throws -> Void) throws -> Content {
    // Opening a pipe without a writer would block.
    let descriptor = try opened(file, O_RDONLY | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw CocoaError(
        errno == ENOENT ? .fileReadNoSuchFile : .fileReadNoPermission,
        userInfo: [NSFilePathErrorKey: file.path]
      )
    }
    let input = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw NoFile() }
    try checkSize(Int64(status.st_size))
    var hash = SHA256()
    var size: Int64 = 0
    while let data = try input.read(upToCount: chunk), !data.isEmpty {
      size += Int64(data.count)
      // A file may grow while it is read, or not say how large it is.
      try checkSize(size)
      hash.update(data: data)
      try take(data)
    }
    return Content(digest: hash.finalize().hexadecimal, size: size)
  }

  private static func checkSize(_ size: Int64) throws(TooLarge) {
    guard size <= CKAsset.largestFile else { throw TooLarge(size: size) }
  }

  /// Opens a file; negative with `errno` on failure.
  ///
  /// - Throws: `TooManyOpenFiles`, which is not the file's fault.
  private static func opened(_ file: URL, _ flags: Int32) throws(TooManyOpenFiles) -> Int32 {
    let descriptor = open(file.path, flags | O_CLOEXEC, 0o600)
    if descriptor < 0, isForWantOfDescriptors(errno) { throw TooManyOpenFiles() }
    return descriptor
  }

  /// Whether an error means that the process or the machine has too many files open.
  static func isForWantOfDescriptors(_ code: Int32) -> Bool { code == EMFILE || code == ENFILE }

  /// Makes the folder's entries survive a power failure.
  private static func synchronize(_ folder: URL) throws {
    let descriptor = try opened(folder, O_RDONLY | O_DIRECTORY)
    guard descriptor >= 0 else { throw failure(folder) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure(folder) }
  }

  /// An error of reading or copying a file, for messages.
  static func text(_ error: any Error) -> String {
    switch error {
    case is NoFile: "it is no regular file"
    case let error as TooLarge: "it has \(error.size) bytes; an asset takes at most \(CKAsset.largestFile)"
    case is TooManyOpenFiles: "too many files are open"
    case let error as CocoaError where error.code == .fileReadNoSuchFile: "it is not there"
    case let error as CocoaError: error.localizedDescription
    default: String(describing: error)
    }
  }

  /// The problem with a queued file that could not be read; nil if the error is not the file's.
  static func problem(_ error: any Error) -> FailureCause.FileProblem? {
    switch error {
    // It was small enough when its save was accepted.
    case is TooLarge: .changed
    case CocoaError.fileReadNoSuchFile: .missing
    case is NoFile, CocoaError.fileReadNoPermission, CocoaError.fileReadUnknown: .unreadable(text(error))
    default: nil
    }
  }

  /// Whether the disk was full, in any of the forms in which Foundation reports it.
  static func isDiskFull(_ error: any Error) -> Bool {
    let error = error as NSError
    switch error.domain {
    case NSCocoaErrorDomain: return error.code == CocoaError.fileWriteOutOfSpace.rawValue
    case NSPOSIXErrorDomain: return error.code == Int(ENOSPC)
    default: return false
    }
  }

  private static func failure(_ file: URL) -> CocoaError {
    let code: CocoaError.Code = errno == ENOSPC ? .fileWriteOutOfSpace : .fileWriteUnknown
    return CocoaError(code, userInfo: [NSFilePathErrorKey: file.path])
  }
}
