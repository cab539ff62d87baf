import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A nameless file that holds an upload on its way in. The kernel removes it with the process, however that ends.
final class Spool: Sendable {
  /// The file could not be made, written or read.
  struct Failure: Error {}

  private let descriptor: Int32

  /// Makes an empty one beside the emulator's own file, where the bytes will have to find room anyway.
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

  /// The whole content, which the kernel brings in where it is looked at.
  func mapped() throws(Failure) -> Data {
    let count = count
    guard count > 0 else { return Data() }
    guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
      throw Failure()
    }
    return Data(bytesNoCopy: start, count: count, deallocator: .custom { munmap($0, $1) })
  }
}
