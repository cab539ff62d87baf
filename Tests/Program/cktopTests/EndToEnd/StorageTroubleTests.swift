import Foundation
import Glibc
import TestSupport
import Testing

/// `sync --watch` on a small file system of its own that fills up, becomes read-only or is unmounted: it waits, says so
/// and goes on.
///
/// The file system is mounted in a mount namespace of the syncing process; a system that allows none skips these tests.
@Suite(.serialized, .timeLimit(.minutes(40)), .enabled("no mount namespaces", MountNamespace.isAllowed))
struct StorageTroubleTests {
  private let cloud: Cloud
  private let machine: Machine

  init() async throws {
    cloud = try await Cloud()
    machine = try Machine(cloud)
  }

  @Test func `a full disk is a verdict, and syncing goes on when there is space`() async throws {
    let disk = try Disk(machine)
    try await disk.wait { $0["inSync"] as? Bool == true }

    try await disk.run("dd if=/dev/zero of=filler bs=4k 2>/dev/null; true")
    try await fill()
    try await disk.wait { $0["verdict"] as? String == "storeFull" }
    let status = try await disk.cktop("status", "--json")
    #expect(status.status == 3)
    #expect(try disk.log.contains(" storage "))

    try await disk.run("rm filler")
    try await disk.wait { $0["inSync"] as? Bool == true }
    let records = try await disk.cktop("records", "list", "--json").lines.count
    #expect(records == Self.count)
    await disk.end()
  }

  @Test func `a disk that is full at the start is waited for`() async throws {
    let disk = try Disk(machine, before: "dd if=/dev/zero of=filler bs=4k 2>/dev/null; true")

    try await disk.until { try disk.log.contains(" storage ") }
    try await disk.run("rm filler")

    try await disk.wait { $0["inSync"] as? Bool == true }
    await disk.end()
  }

  @Test func `a read-only file system is a verdict, and a watch that starts on it waits and goes on`() async throws {
    let disk = try Disk(
      machine,
      before: """
        "$0" sync && "$0" records put --type Row --name a text=x && mount -o remount,bind,ro "$DISK"
        """
    )
    try await disk.until { try disk.log.contains(" storage ") }

    let status = try await disk.cktop("status", "--json")
    let doctor = try await disk.cktop("doctor", "--json")

    #expect(status.status == 3 && doctor.status == 3)
    let object = try JSONSerialization.jsonObject(with: Data(status.output.utf8)) as? [String: Any]
    let problems = object?["problems"] as? [[String: Any]]
    #expect(problems?.compactMap { $0["verdict"] as? String } == ["storeFull"])
    let levels = try doctor.lines.map { line in
      let finding = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return [finding?["check"] as? String, finding?["level"] as? String]
    }
    #expect(levels.contains(["disk", "problem"]))

    try await disk.run("cd / && mount -o remount,bind,rw \"$DISK\"")
    try await disk.wait { $0["inSync"] as? Bool == true }
    await disk.end()
  }

  @Test func `a file system that is unmounted is waited for`() async throws {
    let disk = try Disk(machine)
    try await disk.wait { $0["inSync"] as? Bool == true }

    try await disk.run("cd / && umount -l \"$DISK\"")
    try await disk.until { try disk.log.contains(" storage ") }
    try await disk.run("cd / && mount --bind \"$DISK.source\" \"$DISK\"")
    try await fill()

    try await disk.until {
      try await disk.cktop("records", "list", "--json").lines.count == Self.count
    }
    try await disk.wait { $0["inSync"] as? Bool == true }
    await disk.end()
  }

  /// Fills the file system.
  private static let filling = "dd if=/dev/zero of=filler bs=4k 2>/dev/null; true"

  /// Ways in which a process leaves a store: closed, or killed, with a log but without its index.
  private static let leaving = [
    "\"$0\" records put --type Row --name a text=x",
    """
    "$0" sync && { "$0" sync --watch & } && until "$0" status --oneline | grep -q "^in sync:"; do :; done \
      && "$0" queue pause --all && "$0" records put --type Row --name a text=x \
      && kill -9 $! && { wait; rm store.sqlite-shm; test -s store.sqlite-wal; }
    """,
  ]

  @Test(arguments: leaving)
  func `a store on a full disk can be looked at`(left: String) async throws {
    let disk = try Disk(machine, before: "\(left) && touch ready && { \(Self.filling); }", isSyncing: false)
    try await disk.until { try await disk.run("test -e ready").status == 0 }
    try await disk.run(Self.filling)
    let files = try await disk.run("cat store.sqlite store.sqlite-wal 2>/dev/null | cksum").output

    #expect(try await disk.cktop("queue", "list", "--json").lines.count == 1)
    #expect(try await disk.cktop("conflicts", "list").status == 0)
    #expect(try await disk.cktop("records", "list", "--json").lines.count == 1)
    let status = try await disk.cktop("status", "--json")
    #expect(status.status == 3)
    #expect(try Self.verdict(status) == "storeFull")
    #expect(try await disk.cktop("queue", "retry", "--all").status == 4)
    #expect(try await disk.run("cat store.sqlite store.sqlite-wal 2>/dev/null | cksum").output == files)

    try await disk.run("rm filler")
    #expect(try Self.verdict(try await disk.cktop("status", "--json")) != "storeFull")
    #expect(try await disk.cktop("queue", "list", "--json").lines.count == 1)
  }

  @Test func `a store that cannot be made on a full disk leaves no file`() async throws {
    let disk = try Disk(machine, before: "touch ready && { \(Self.filling); }", isSyncing: false)
    try await disk.until { try await disk.run("test -e ready").status == 0 }
    try await disk.run(Self.filling)

    #expect(try await disk.cktop("records", "put", "--type", "Row", "--name", "a", "text=x").status == 4)

    #expect(try await disk.run("ls store.sqlite store.sqlite-*").output == "")
    #expect(try Self.verdict(try await disk.cktop("status", "--json")) == "storeFull")
    try await disk.run("rm filler")
    #expect(try await disk.cktop("records", "put", "--type", "Row", "--name", "a", "text=x").status == 0)
  }

  private static func verdict(_ end: Disk.End) throws -> String? {
    let status = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    return (status?["sync"] as? [String: Any])?["verdict"] as? String
  }

  private static let count = 60

  /// Lets another device save more than the full disk has room for.
  private func fill() async throws {
    let other = try Machine(cloud)
    let text = String(repeating: "x", count: 100_000)
    let rows = (0..<Self.count).map { "{\"id\": \"r\($0)\", \"text\": \"\(text)\"}" }.joined(separator: "\n")
    let file = try other.folder.write(rows, to: "rows.ndjson")
    try await other.succeed("records", "import", file, "--type", "Row", "--id", "id")
    try await other.succeed("sync")
  }
}

/// What mounting needs.
private enum MountNamespace {
  /// The start of a command that runs in a mount namespace of its own.
  static let enter = geteuid() == 0 ? ["unshare", "--mount"] : ["unshare", "--mount", "--map-root-user"]

  static func isAllowed() async throws -> Bool {
    let words = enter + ["sh", "-c", "mount -t tmpfs -o size=1m none /mnt"]
    let environment = ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"]
    return try await Child(words[0], Array(words.dropFirst()), environment: environment).end() == .exited(0)
  }

  /// The start of a command that runs in the namespace of a process.
  static func join(_ pid: pid_t) -> [String] {
    let user = geteuid() == 0 ? [] : ["--user", "--preserve-credentials"]
    return ["nsenter", "--target", "\(pid)", "--mount"] + user
  }
}

/// A file system of 16 MB with a store, which `cktop sync --watch` syncs unless it is to be without a syncing process.
private final class Disk: Sendable {
  private let machine: Machine
  private let process: Child
  private let path: String
  private let environment: [String: String]

  /// - Parameters:
  ///   - before: what a shell does on the empty file system first; `$0` is `cktop`.
  ///   - isSyncing: whether `cktop sync --watch` runs afterwards; if not, the file system is just kept mounted.
  init(_ machine: Machine, before: String = "true", isSyncing: Bool = true) throws {
    self.machine = machine
    path = machine.folder.path("disk")
    environment = machine.environment.merging(["DISK": path, "CKTOP_STORE": "\(path)/store.sqlite"]) { $1 }
    // The second mount lets the file system outlive the first.
    let script = """
      mkdir -p "$DISK" "$DISK.source" && mount -t tmpfs -o size=16m none "$DISK.source" \\
        && mount --bind "$DISK.source" "$DISK" && cd "$DISK" && { \(before); } && cd / && exec \(isSyncing ? "\"$0\" sync --watch" : "sleep 1000000")
      """
    let words = MountNamespace.enter + ["sh", "-c", script, try Binary.cktop().path]
    process = try Child(
      words[0],
      Array(words.dropFirst()),
      environment: environment,
      error: machine.folder.path("watch.log")
    )
  }

  deinit { process.send(SIGKILL) }

  var log: String {
    get throws { try String(contentsOfFile: machine.folder.path("watch.log"), encoding: .utf8) }
  }

  struct End {
    var status: Int32
    var output: String
    var lines: [Substring] { output.split(separator: "\n") }
  }

  /// Runs a shell command on the file system.
  @discardableResult
  func run(_ command: String) async throws -> End { try await run(["sh", "-c", "cd \"$DISK\" && \(command)"]) }

  /// Runs `cktop` on the store.
  func cktop(_ arguments: String...) async throws -> End { try await run([Binary.cktop().path] + arguments) }

  private func run(_ arguments: [String]) async throws -> End {
    let words = MountNamespace.join(process.pid) + arguments
    let output = machine.folder.path(UUID().uuidString)
    let child = try Child(words[0], Array(words.dropFirst()), environment: environment, output: output)
    guard case .exited(let status) = await child.end() else { return End(status: -1, output: "") }
    return End(status: status, output: try String(contentsOfFile: output, encoding: .utf8))
  }

  /// Waits until what `status` says of syncing fulfils a condition; the test's time limit bounds it.
  func wait(_ isTrue: ([String: Any]) -> Bool) async throws {
    try await until {
      let text = try await cktop("status", "--json").output
      let status = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      return (status?["sync"] as? [String: Any]).map(isTrue) ?? false
    }
  }

  func until(_ isTrue: () async throws -> Bool) async throws {
    while try await !isTrue() {
      guard process.isRunning else { throw Ended(log: try log) }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  private struct Ended: Error { var log: String }

  func end() async {
    process.send(SIGTERM)
    #expect(await process.end() == .exited(0))
  }
}
