import Foundation

#if canImport(Glibc)
  import Glibc

  /// The memory that only the start needs.
  enum StartupMemory {
    /// Gives back the pages of code, of the program and its libraries, that reading the arguments and settings needed,
    /// which is most of what is resident then. They are clean: the kernel maps those that are used again from its cache
    /// or from the file.
    static func release() {
      guard let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else { return }
      // Only what is in a file has a path.
      for line in maps.split(separator: "\n") where line.contains(" r-xp ") && line.contains(" /") {
        let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard range.count == 2, range[0] < range[1] else { continue }
        madvise(UnsafeMutableRawPointer(bitPattern: range[0]), Int(range[1] - range[0]), MADV_DONTNEED)
      }
    }
  }
#endif
