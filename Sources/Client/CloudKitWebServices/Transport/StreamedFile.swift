internal import Foundation
internal import NIOCore
internal import NIOPosix

/// An open file that is read or written in chunks, on threads that may block on disk access.
///
/// At most one chunk is in memory, whatever the file's size.
final class StreamedFile: Sendable {
  /// A problem with the file, for people. It never contains the file's name.
  struct Failure: Error {
    let message: String
  }

  /// The size in bytes when the file was opened.
  let size: Int64

  private let descriptor: CInt

  private static let piece = 128 << 10

  /// - Throws: `Failure` if the file cannot be opened or is not a regular file.
  init(reading file: URL) throws(Failure) {
    // Open without blocking: a named pipe would otherwise wait forever for a writer.
    (descriptor, size) = try Self.opened(file, O_RDONLY | O_NONBLOCK)
  }

  /// Opens an existing file and truncates it.
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
      throw Failure(message: "is not a regular file")
    }
    return (descriptor, Int64(status.st_size))
  }

  /// Appends bytes after the last written ones.
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

  /// Returns the bytes at an offset, up to one chunk.
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
      guard count > 0 else { throw Failure(message: "became shorter while being read") }
      return buffer
    }
  }

  private static func words(_ code: CInt) -> String { String(cString: strerror(code)) }
}

extension StreamedFile {
  /// The file's bytes from its start, read no faster than a connection on an event loop sends them.
  struct Pieces: AsyncSequence, Sendable {
    let file: StreamedFile
    let loop: any EventLoop
    /// Receives the sizes of the chunks. The client reads them outside the task of the transfer.
    let report: AssetBytes.Report?

    struct AsyncIterator: AsyncIteratorProtocol {
      let file: StreamedFile
      let loop: any EventLoop
      let report: AssetBytes.Report?
      var offset: Int64 = 0

      mutating func next() async throws -> ByteBuffer? {
        guard offset < file.size else { return nil }
        // The client passes chunks to the event loop without waiting and learns only there that the connection is busy:
        // half a file can accumulate while the loop is busy.
        try await loop.submit {}.get()
        let bytes = try await file.bytes(at: offset)
        offset += Int64(bytes.readableBytes)
        report?(Int64(bytes.readableBytes))
        return bytes
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, loop: loop, report: report) }
  }
}
