import CPowerCut
import CloudKit
import Foundation
import Synchronization

/// A folder of a test's own, between whose files and SQLite the test stands: it witnesses every call and may fail some.
final class Disk: Sendable {
  /// What happened, in order.
  enum Entry: Sendable {
    case changed(String, Platter.Change)
    /// The changes of this number were asked for, and then accepted.
    case asked(Int)
    case accepted(Int)
    /// A request arrived at the server.
    case requested(CKTransportRequest, at: Date)
  }

  /// Calls that fail: of one kind, from a certain one on, a number of times.
  struct Failure: Sendable {
    var call: powercut_call
    var error: Int32
    /// How many such calls go well before.
    var after = 0
    var times = Int.max
  }

  private struct State {
    var log: [Entry]?
    var failure: Failure?
    var struck = 0
  }

  let url: URL
  private let state: Mutex<State>

  /// - Parameter isRecorded: whether the log is kept.
  init(isRecorded: Bool = false) throws {
    Self.install()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("powercut-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.resolvingSymlinksInPath()
    state = Mutex(State(log: isRecorded ? [] : nil))
    let weak = Weak(self)
    Self.disks.withLock { $0[url.lastPathComponent] = weak }
  }

  deinit {
    _ = Self.disks.withLock { $0.removeValue(forKey: url.lastPathComponent) }
    try? FileManager.default.removeItem(at: url)
  }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// Writes files as if they had always been there.
  func fill(_ files: [String: [UInt8]]) throws {
    for (name, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: path(name))) }
  }

  var log: [Entry] { state.withLock { $0.log ?? [] } }

  func note(_ entry: Entry) { state.withLock { $0.log?.append(entry) } }

  /// Fails calls from now on; nil: none any more.
  func fail(_ failure: Failure?) {
    state.withLock {
      $0.failure = failure
      $0.struck = 0
    }
  }

  /// How many calls have failed since last set.
  var struck: Int { state.withLock { $0.struck } }

  // MARK: - Between SQLite and the files

  private struct Weak: Sendable {
    weak let disk: Disk?
    init(_ disk: Disk) { self.disk = disk }
  }

  private static let disks = Mutex<[String: Weak]>([:])

  private static let isInstalled = powercut_install(
    { call, path, offset, bytes, count in
      guard let path, let (disk, name) = Disk.find(String(cString: path)) else { return 0 }
      return disk.witness(call, name, Int(offset), bytes, Int(count))
    },
    { path in path.flatMap { Disk.find(String(cString: $0)) } == nil ? 0 : 1 }
  )

  private static func install() { precondition(isInstalled == 0, "SQLite takes no other files.") }

  private static func find(_ path: String) -> (Disk, String)? {
    let parts = path.split(separator: "/")
    guard parts.count > 1, let disk = disks.withLock({ $0[String(parts[parts.count - 2])]?.disk }) else { return nil }
    return (disk, String(parts[parts.count - 1]))
  }

  private func witness(
    _ call: powercut_call,
    _ name: String,
    _ offset: Int,
    _ bytes: UnsafeRawPointer?,
    _ count: Int
  ) -> Int32 {
    state.withLock { state in
      if var failure = state.failure, failure.call == call {
        failure.after -= 1
        if failure.after < 0, failure.times > 0 {
          failure.times -= 1
          state.failure = failure
          state.struck += 1
          return failure.error
        }
        state.failure = failure
      }
      guard state.log != nil, let change = Self.change(call, offset, bytes, count) else { return 0 }
      state.log?.append(.changed(name, change))
      return 0
    }
  }

  private static func change(
    _ call: powercut_call,
    _ offset: Int,
    _ bytes: UnsafeRawPointer?,
    _ count: Int
  ) -> Platter.Change? {
    switch call {
    case POWERCUT_CREATE: .create
    case POWERCUT_WRITE: .write(offset: offset, bytes: Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    case POWERCUT_TRUNCATE: .resize(count)
    case POWERCUT_SYNC: .sync(name: count != 0)
    case POWERCUT_DELETE: .remove(isDurable: count != 0)
    default: nil
    }
  }
}
