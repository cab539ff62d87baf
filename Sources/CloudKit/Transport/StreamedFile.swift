internal import Foundation
internal import NIOCore
internal import NIOPosix

/// An open file that is read or written piece by piece on threads that may wait for a disk.
///
/// No more than one piece is in memory, whatever the file's size.
final class StreamedFile: Sendable {
  /// What went wrong with the file, for people. It names the problem, never the file.
  struct Failure: Error {
    let message: String
  }

  /// Bytes when the file was opened.
  let size: Int64

  private let descriptor: CInt

  private static let piece = 128 << 10

  /// - Throws: `Failure` where the file cannot be opened or is no regular one.
  init(reading file: URL) throws(Failure) {
    // Not blocking: opening a named pipe would otherwise wait for a writer for ever.
    (descriptor, size) = try Self.opened(file, O_RDONLY | O_NONBLOCK)
  }

  /// Opens an existing file and empties it.
  init(overwriting file: URL) throws(Failure) {
    (descriptor, size) = try Self.opened(file, O_WRONLY | O_NONBLOCK | O_TRUNC)
  }

  deinit { close(descriptor) }

  private static func opened(_ file: URL, _ flags: CInt) throws(Failure) -> (CInt, Int64) {
    let descriptor = open(file.path, flags | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(message: "cannot be opened: \(words(errno))") }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw Failure(message: "is no regular file")
    }
    return (descriptor, Int64(status.st_size))
  }

  /// Adds bytes at the end of what was written before.
  func append(_ bytes: ByteBuffer) async throws {
    try await NIOThreadPool.singleton.runIfActive { [self] in
      try bytes.withUnsafeReadableBytes { bytes in
        var rest = bytes
        while !rest.isEmpty {
          let written = write(descriptor, rest.baseAddress, rest.count)
          if written < 0, errno == EINTR { continue }
          guard written > 0 else { throw Failure(message: "cannot be written: \(Self.words(errno))") }
          rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
      }
    }
  }

  /// The bytes from an offset on, up to a piece of them.
  private func bytes(at offset: Int64) async throws -> ByteBuffer {
    let wanted = Int(min(Int64(Self.piece), size - offset))
    return try await NIOThreadPool.singleton.runIfActive { [self] in
      var buffer = ByteBufferAllocator().buffer(capacity: wanted)
      let count = try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { memory in
        while true {
          let count = pread(descriptor, memory.baseAddress, wanted, off_t(offset))
          if count >= 0 { return count }
          guard errno == EINTR else { throw Failure(message: "cannot be read: \(Self.words(errno))") }
        }
      }
      guard count > 0 else { throw Failure(message: "became shorter while it was read") }
      return buffer
    }
  }

  private static func words(_ code: CInt) -> String { String(cString: strerror(code)) }
}

extension StreamedFile {
  /// The file from its beginning, read no faster than a connection on an event loop writes it.
  struct Pieces: AsyncSequence, Sendable {
    let file: StreamedFile
    let loop: any EventLoop

    struct AsyncIterator: AsyncIteratorProtocol {
      let file: StreamedFile
      let loop: any EventLoop
      var offset: Int64 = 0

      mutating func next() async throws -> ByteBuffer? {
        guard offset < file.size else { return nil }
        // The client hands pieces to the loop without waiting, and learns only there that the connection is busy: half a
        // file can pile up while the loop does other things.
        try await loop.submit {}.get()
        let bytes = try await file.bytes(at: offset)
        offset += Int64(bytes.readableBytes)
        return bytes
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, loop: loop) }
  }
}
