import Foundation
import Glibc
import Synchronization
import Testing

/// The dashboard over a line that hangs up, stalls, or is slow. The test is what is at the line's other end.
@Suite(.serialized, .timeLimit(.minutes(40))) struct LineTests {
  /// A terminal line, and the dashboard of a store with one unsent change on it.
  private final class Line: Sendable {
    let machine: Machine
    let dashboard: Child
    let path: String
    private let end: Int32
    private let isOpen = Mutex(true)
    private let received = Mutex([UInt8]())

    init(_ machine: Machine, columns: UInt16 = 80, rows: UInt16 = 24) async throws {
      self.machine = machine
      try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "a=1")
      end = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
      // What `unlockpt` and `ptsname` do, which Swift does not import.
      var (lock, number): (Int32, UInt32) = (0, 0)
      try #require(end >= 0 && ioctl(end, 0x4004_5431, &lock) == 0 && ioctl(end, 0x8004_5430, &number) == 0)
      path = "/dev/pts/\(number)"
      var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      // Neither a read of what has not come, nor a write of what nothing reads, may stop the test.
      try #require(ioctl(end, UInt(TIOCSWINSZ), &size) == 0 && fcntl(end, F_SETFL, O_NONBLOCK) == 0)
      // Whatever begins a session gets the first terminal that it opens as its own.
      let command = "exec '\(try Binary.cktop().path)' <'\(path)' >'\(path)' 2>&1"
      dashboard = try Child("setsid", ["sh", "-c", command], environment: machine.environment)
    }

    deinit {
      dashboard.send(SIGKILL)
      hangUp()
    }

    func hangUp() {
      isOpen.withLock { isOpen in
        if isOpen { close(end) }
        isOpen = false
      }
    }

    func type(_ keys: String) throws {
      try #require(write(end, keys, keys.utf8.count) == keys.utf8.count)
    }

    /// The bytes that have come and were not read.
    var waiting: Int {
      var count: Int32 = 0
      return ioctl(end, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// The bytes that were typed and the dashboard has not read.
    func unread() throws -> Int {
      let terminal = open(path, O_RDWR | O_NOCTTY)
      try #require(terminal >= 0)
      defer { close(terminal) }
      var count: Int32 = 0
      try #require(ioctl(terminal, UInt(FIONREAD), &count) == 0)
      return Int(count)
    }

    /// Reads at most so many bytes of what has come; nil at the line's end.
    @discardableResult
    func take(_ limit: Int = 65_536) -> [UInt8]? {
      var bytes = [UInt8](repeating: 0, count: limit)
      let count = read(end, &bytes, limit)
      guard count > 0 else { return count < 0 && errno == EAGAIN ? [] : nil }
      received.withLock { $0 += bytes[..<count] }
      return Array(bytes[..<count])
    }

    /// Everything that was read since the last call of `forget`.
    var text: String { received.withLock { String(decoding: $0, as: UTF8.self) } }
    func forget() { received.withLock { $0 = [] } }

    /// Reads until the text is as wanted; the suite's time limit bounds it.
    func receive(until isTrue: (String) -> Bool) async throws {
      while !isTrue(text) {
        let taken = try #require(take(), "the line ended: \(text.suffix(200))")
        if taken.isEmpty { await Task.yield() }
      }
    }

    /// Reads until the dashboard ends.
    func receiveToEnd() async -> Child.End {
      while dashboard.isRunning {
        if take()?.isEmpty != false { await Task.yield() }
      }
      while let taken = take(), !taken.isEmpty {}
      return await dashboard.end()
    }

    /// Gives the command to pause everything, and returns when the dashboard has taken it.
    func pauseEverything() async throws {
      try type("p")
      try await receive { $0.contains("Pause everything") }
      forget()
      // The whole screen is drawn again only after the answer was read.
      try type("y\u{C}")
      try await receive { $0.contains("3 Queue") }
    }

    /// Whether the terminal is as a shell needs it.
    func isCooked() throws -> Bool {
      let terminal = open(path, O_RDWR | O_NOCTTY)
      try #require(terminal >= 0)
      defer { close(terminal) }
      var settings = termios()
      try #require(tcgetattr(terminal, &settings) == 0)
      return settings.c_lflag & tcflag_t(ICANON) != 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    func verdict() async throws -> String? {
      let sync = try await machine.run("status", "--json").object()["sync"] as? [String: Any]
      return sync?["verdict"] as? String
    }

    /// The memory that the dashboard alone has, in bytes: not the pages of the program and its libraries.
    func memory() throws -> Int {
      let status = try String(contentsOfFile: "/proc/\(dashboard.pid)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
      return (Int(line.filter(\.isNumber)) ?? 0) * 1024
    }
  }

  private static func machine() throws -> Machine {
    try Machine([
      "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:1", "CLOUDKIT_DATABASE": "private",
    ])
  }

  /// The rows whose ground changes have 78 cells each; the rest are the places and the colours.
  @Test func `a cursor move at 80x24 sends two rows, in at most 240 bytes`() async throws {
    let machine = try Self.machine()
    for name in ["t2", "t3"] { try await machine.succeed("records", "put", "--type", "Task", "--name", name, "a=1") }
    let line = try await Line(machine)
    try await line.receive { $0.contains("t3") && $0.contains("help") }
    var least = Int.max
    for key in ["j", "k", "j", "k"] {
      line.forget()
      try line.type(key)
      try await line.receive { $0.components(separatedBy: "Task/t").count == 3 }
      least = min(least, line.text.utf8.count)
    }
    #expect(least <= 240, "\(least)")
    try line.type("q")
    #expect(await line.receiveToEnd() == .exited(0))
  }

  private static let leavesScreen = "\u{1B}[?1049l"

  @Test func `a dashboard whose line hangs up ends, and does what it was told before`() async throws {
    let line = try await Line(Self.machine())
    try await line.receive { $0.contains("3 Queue") && $0.contains("t1") }
    try await line.pauseEverything()
    // It draws while nothing reads any more.
    try line.type("\u{C}\u{C}")
    line.hangUp()

    // It may meet the end of the line before the signal. A machine that is too busy to pick the signal up ends it all the
    // same.
    #expect([.exited(129), .exited(1), .signalled(SIGHUP)].contains(await line.dashboard.end()))
    #expect(try await line.verdict() == "paused")
  }

  @Test func `a dashboard that is told of a hang-up gives the terminal back`() async throws {
    let line = try await Line(Self.machine())
    try await line.receive { $0.contains("3 Queue") && $0.contains("t1") }
    #expect(try !line.isCooked())
    try line.type("\u{C}\u{C}")
    line.dashboard.send(SIGHUP)

    // A machine that is too busy to pick the signal up ends it all the same.
    #expect([.exited(129), .signalled(SIGHUP)].contains(await line.receiveToEnd()))
    #expect(try line.isCooked() && line.text.contains(Self.leavesScreen))
  }

  /// `CKTOP_STALL_SECONDS=60` leaves the line stalled for as long.
  @Test func `on a stalled line the dashboard goes on, takes keys and little memory, and then shows how it is`()
    async throws
  {
    let line = try await Line(Self.machine())
    try await line.receive { $0.contains("3 Queue") && $0.contains("t1") }
    let before = try line.memory()

    // Each of these draws the whole screen, which is more than the line holds; the last key pauses the change.
    try line.type(String(repeating: "\u{C}", count: 400) + "P")
    while try await line.verdict() != "partlyPaused" {}
    let (held, after) = (line.waiting, try line.memory())
    if let seconds = ProcessInfo.processInfo.environment["CKTOP_STALL_SECONDS"].flatMap(Double.init) {
      try await Task.sleep(for: .seconds(seconds))
    }
    #expect(held < 100_000 && after - before < 16_000_000, "\(held) \(after - before)")

    try await line.receive { $0.contains("paused") }
    line.forget()
    try line.type("\u{C}")
    try await line.receive { $0.contains("paused") && $0.contains("3 Queue") }
    try line.type("q")
    #expect(await line.receiveToEnd() == .exited(0))
    #expect(line.text.contains(Self.leavesScreen))
  }

  @Test func `a dashboard that writes to a stalled line ends at SIGTERM`() async throws {
    let line = try await Line(Self.machine(), columns: 200, rows: 60)
    try await line.receive { $0.contains("3 Queue") && $0.contains("t1") }
    // The line holds less than these screens, and nothing reads it.
    try line.type(String(repeating: "\u{C}", count: 100))
    while try line.unread() > 0 || line.waiting == 0 { await Task.yield() }
    line.dashboard.send(SIGTERM)

    #expect([.exited(128 + SIGTERM), .signalled(SIGTERM)].contains(await line.dashboard.end()))
    #expect(try line.isCooked())
  }

  @Test(arguments: [(65_535, 24), (80, 65_535), (65_535, 65_535)] as [(UInt16, UInt16)])
  func `a terminal of any size is drawn on`(columns: UInt16, rows: UInt16) async throws {
    let line = try await Line(Self.machine(), columns: columns, rows: rows)
    try await line.receive { $0.contains("3 Queue") && $0.contains("t1") }
    try line.type("q")
    #expect(await line.receiveToEnd() == .exited(0))
  }

  /// 9,600 baud bring 960 bytes a second. The test reads as many for each second that it counts, and a key arrives 0.3 s
  /// after it was typed.
  @Test func `at 9,600 baud with 300 ms the first screen takes five seconds, and a moved cursor less than one`()
    async throws
  {
    let line = try await Line(Self.machine())
    let tenth = 96
    var tenths = 0
    /// Reads at the line's pace, and counts the time for what has come.
    func receive(until isTrue: (String) -> Bool) async throws {
      while !isTrue(line.text) {
        let taken = try #require(line.take(tenth))
        if taken.isEmpty { await Task.yield() } else { tenths += 1 }
      }
    }
    try await receive { $0.contains("3 Queue") && $0.contains("t1") && $0.contains("help") }
    #expect(tenths <= 50, "\(tenths)")

    line.forget()
    tenths = 3
    try line.type("4")
    try await receive { $0.contains("Records") }
    #expect(tenths <= 10, "\(tenths)")
    try line.type("q")
    #expect(await line.receiveToEnd() == .exited(0))
  }
}
