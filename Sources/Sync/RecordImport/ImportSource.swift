package import Facts
import Foundation
import Glibc

/// A file to import, which is read twice. What can be read only once, such as a pipe, is copied to a temporary file.
package struct ImportSource {
  /// The file's name in messages.
  package let name: String
  private let handle: FileHandle
  /// The place where reading begins.
  private let start: UInt64
  private let modified: [Int]

  /// - Parameter path: `-` is standard input.
  package init(_ path: String) throws(CommandFailure) {
    name = path == "-" ? "standard input" : path
    do {
      let opened = path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      if let offset = try? opened.offset() {
        (handle, start) = (opened, offset)
      } else {
        (handle, start) = (try Self.copy(opened), 0)
      }
      modified = Self.modified(handle)
      _ = try handle.read(upToCount: 1)
    } catch {
      let reason = error.fileReason
      guard path != "-" else { throw .usage("\(name) cannot be read: \(reason); name a file") }
      throw .cannotRead(path, reason, remedy: "check the path and its permissions")
    }
  }

  /// Returns at most `count` bytes from a place; none at the end.
  ///
  /// - Throws: a failure if the file has changed: then its columns may have other types.
  package func read(from offset: Int, count: Int) throws -> [UInt8] {
    guard Self.modified(handle) == modified else {
      throw CommandFailure("\(name) has changed while it was read; import it again", .itemsFailed)
    }
    try handle.seek(toOffset: start + UInt64(offset))
    return Array(try handle.read(upToCount: count) ?? Data())
  }

  private static func modified(_ handle: FileHandle) -> [Int] {
    var status = stat()
    fstat(handle.fileDescriptor, &status)
    return [Int(status.st_size), Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec)]
  }

  /// Copies what is left to read to a file without a name, which ends with the process.
  private static func copy(_ source: FileHandle) throws -> FileHandle {
    let path = FileManager.default.temporaryDirectory.appending(path: "cktop-import-\(UUID().uuidString)").path
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    unlink(path)
    let copy = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    while let piece = try source.read(upToCount: 1 << 18), !piece.isEmpty { try copy.write(contentsOf: piece) }
    return copy
  }
}
