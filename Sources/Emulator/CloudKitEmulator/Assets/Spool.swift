import Foundation

/// An unlinked temporary file for an incoming upload. The kernel removes it when the process ends, however it ends.
final class Spool: Sendable {
  /// The file could not be created, written or read.
  struct Failure: Error {}

  private let descriptor: Int32

  /// Creates an empty file in the folder of the data file, whose file system must have room for the bytes anyway.
  init(folder: String) throws(Failure) {
    var template = Array("\(folder)/upload-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Failure() }
    unlink(template)
  }

  deinit { close(descriptor) }

  var count: Int { max(0, Int(lseek(descriptor, 0, SEEK_END))) }

  func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw Failure() }
      rest = rest.dropFirst(written)
    }
  }

  func bytes(_ range: Range<Int>) throws(Failure) -> Data {
    var data = Data(count: range.count)
    let count = data.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, range.count, off_t(range.lowerBound)) }
    guard count == range.count else { throw Failure() }
    return data
  }

  /// Returns the whole content, memory-mapped.
  func mapped() throws(Failure) -> Data {
    let count = count
    guard count > 0 else { return Data() }
    guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
      throw Failure()
    }
    return Data(bytesNoCopy: start, count: count, deallocator: .custom { munmap($0, $1) })
  }
}
