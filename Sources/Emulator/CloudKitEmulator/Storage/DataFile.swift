import Foundation

/// Notices that another program deleted, moved or changed a data file or its log under a running emulator.
///
/// SQLite locks the file against other SQLite programs only, and goes on writing to a file that has no name any more.
/// Both files change only by the emulator's own writes, so after each of them their state is noted, and compared before
/// the next.
struct DataFile {
  /// The state of a file. Two writes to the same file have different states.
  private struct State: Equatable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let seconds: Int
    let nanoseconds: Int

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, inode, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
      (seconds, nanoseconds) = (Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec))
    }

    func isSameFile(_ other: State?) -> Bool { other.map { ($0.device, $0.inode) == (device, inode) } ?? false }
  }

  /// The loss of a data file or of its log. While it lasts, requests are refused and nothing is written.
  enum Loss: Error, CustomStringConvertible {
    /// There is no file at the path.
    case gone
    /// Another file is at the path.
    case replaced
    /// Another program wrote to the file.
    case changed
    /// The log is not beside the file any more.
    case logGone
    /// Another program wrote to the log.
    case logChanged

    var description: String {
      switch self {
      case .gone: "The data file was deleted or renamed; put it back, or restart the server"
      case .replaced:
        "The data file was replaced by another file; restart the server to use it (the old log is kept, its name ends in -wal.replaced)"
      case .changed:
        "The data file was changed by another program; restore a copy, and restart the server (the log is kept, its name ends in -wal.replaced)"
      case .logGone: "The data file's -wal file was deleted or renamed; restart the server"
      case .logChanged:
        "The data file's -wal file was changed by another program; restore a copy, and restart the server"
      }
    }
  }

  private let path: String
  private let log: String
  private var file: State?
  private var logState: State?

  /// - Parameter log: The path of the log, which SQLite has beside the file itself and not beside a link to it.
  init(_ path: String, log: String) {
    (self.path, self.log) = (path, log)
    (file, logState) = (State(path), State(log))
  }

  /// The loss of the file or of its log; `nil` if both are as the last write left them.
  var loss: Loss? {
    let (present, presentLog) = (State(path), State(log))
    guard let present else { return .gone }
    guard present.isSameFile(file) else { return .replaced }
    guard present == file else { return .changed }
    guard let logState, presentLog != logState else { return nil }
    return logState.isSameFile(presentLog) ? .logChanged : .logGone
  }

  /// Notes what a write has made of the files.
  ///
  /// - Throws: `Loss` if a file is not the one that was written to.
  mutating func noteWrite() throws(Loss) {
    let (present, presentLog) = (State(path), State(log))
    guard let present else { throw .gone }
    guard present.isSameFile(file) else { throw .replaced }
    if let logState, !logState.isSameFile(presentLog) { throw .logGone }
    (file, logState) = (present, presentLog)
  }

  /// Prepares the end of the connection to a file that is lost.
  ///
  /// - Returns: Whether the connection may be closed, which writes the log into the file. SQLite itself leaves a file
  ///   alone that is not at its path any more, and a log without a name still has its content.
  func mayClose(after loss: Loss) -> Bool {
    setLogAside(after: loss)
    switch loss {
    case .changed, .logChanged: return false
    case .gone, .replaced, .logGone: return true
    }
  }

  /// Moves the log away from a file whose content does not belong to it. Otherwise SQLite would write its pages there
  /// when the file is opened next.
  func setLogAside(after loss: Loss) {
    switch loss {
    case .gone, .logGone, .logChanged: return
    case .replaced, .changed: break
    }
    guard let logState, logState.isSameFile(State(log)) else { return }
    // Keep earlier ones, which may hold the only copy of acknowledged writes.
    let names = (1...).lazy.map { $0 == 1 ? "\(log).replaced" : "\(log).replaced.\($0)" }
    guard let name = names.first(where: { !FileManager.default.fileExists(atPath: $0) }) else { return }
    try? FileManager.default.moveItem(atPath: log, toPath: name)
  }
}
