import Foundation
import GRDB
import Glibc
import TestSupport
import Testing

@testable import CloudSync

/// Whether there is a store, as far as this user may see.
@Suite(.onFile) struct StorePresenceTests {
  private let world: World
  private var path: String { world.folder.path("store.sqlite") }

  init() throws { world = try World() }

  private static let file = "/var/lib/cktop/s.sqlite"

  /// The system's answers: the file, then the folders above it.
  private static func presence(_ looks: [StoreFile.Look]) -> StoreFile {
    let paths = [file, "/var/lib/cktop", "/var/lib", "/var"]
    let answers = Dictionary(uniqueKeysWithValues: zip(paths, looks))
    return StoreFile(atPath: file) { answers[$0] ?? .found(owner: "root", mayRead: true) }
  }

  @Test(
    arguments: [
      ([.found(owner: "cktop", mayRead: true)], .present),
      ([.failed(errno: ENOENT)], .missing),
      ([.failed(errno: ENOTDIR)], .missing),
      ([.found(owner: "cktop", mayRead: false)], .denied(place: file, owner: "cktop")),
      // The folder may be seen, and not entered.
      (
        [.failed(errno: EACCES), .found(owner: "cktop", mayRead: false)],
        .denied(place: "/var/lib/cktop", owner: "cktop")
      ),
      (
        [.failed(errno: EACCES), .found(owner: "cktop", mayRead: true)],
        .denied(place: "/var/lib/cktop", owner: "cktop")
      ),
      (
        [.failed(errno: EACCES), .failed(errno: EACCES), .found(owner: "ana", mayRead: false)],
        .denied(place: "/var/lib", owner: "ana")
      ),
      ([.failed(errno: EACCES)] + Array(repeating: .failed(errno: EACCES), count: 3), .denied(place: "/", owner: nil)),
      ([.failed(errno: EIO)], .unknown(errno: EIO)),
    ] as [([StoreFile.Look], StoreFile)]
  )
  func `only what the system says is not there is missing`(_ looks: [StoreFile.Look], _ expected: StoreFile) {
    #expect(Self.presence(looks) == expected)
  }

  @Test func `a store that may not be read is an error, never a missing one`() throws {
    #expect(try StoreFile.present.isPresent(Self.file))
    #expect(try !StoreFile.missing.isPresent(Self.file))
    for (presence, isOthers) in [
      (StoreFile.denied(place: "/var/lib/cktop", owner: "cktop"), true),
      (.denied(place: Self.file, owner: "cktop"), true),
      (.denied(place: Self.file, owner: "ben"), false), (.denied(place: "/", owner: nil), false),
      (.unknown(errno: EIO), false),
    ] {
      let error = #expect(throws: StoreError.self) { _ = try presence.isPresent(Self.file, user: "ben") }
      #expect(error?.kind == .cannotOpen, "\(presence)")
      #expect(error?.message.contains(Self.file) == true, "\(presence)")
      #expect(error?.message.hasSuffix("sudo -u cktop") == isOthers, "\(presence)")
      if case .denied(let place, _) = presence { #expect(error?.message.contains(place) == true) }
    }
  }

  @Test func `the system is asked about the file itself`() throws {
    let link = world.folder.path("loop")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: link)
    try Data().write(to: URL(fileURLWithPath: path))

    #expect(StoreFile(atPath: path) == .present)
    #expect(StoreFile(atPath: world.folder.path("none")) == .missing)
    #expect(StoreFile(atPath: path + "/below") == .missing)
    let hidden = link + "/store.sqlite"
    #expect(StoreFile(atPath: hidden) == .unknown(errno: ELOOP))
    for access in [StoreAccess.reading, .changing, .making] {
      let error = #expect(throws: StoreError.self) { _ = try SQLiteStorage(path: hidden, access: access) }
      #expect(error?.kind == .cannotOpen, "\(access)")
    }
    #expect(throws: StoreError.self) { try StorePath.requireReadable(besides: hidden) }
  }

  @Test func `a file that may be a user's is looked at before a user is said to have none`() throws {
    let base = world.folder.path("store.sqlite")
    try StorePath.requireReadable(besides: base)
    let sibling = world.folder.path("store._ben.sqlite")
    try FileManager.default.createSymbolicLink(atPath: sibling, withDestinationPath: sibling)

    let error = #expect(throws: StoreError.self) { try StorePath.requireReadable(besides: base) }
    #expect(error?.message.contains(sibling) == true)
  }

  // MARK: - Files that were deleted or emptied

  @Test(arguments: [StoreAccess.reading, .changing, .making])
  func `a store that was deleted while its log is still there is not made again`(_ access: StoreAccess) throws {
    let store = try world.open("store")
    try store.accept(world.put("a", [:]))
    let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
    try FileManager.default.removeItem(atPath: path)

    let error = #expect(throws: StoreError.self) { _ = try SQLiteStorage(path: path, access: access) }

    #expect(error?.kind == .replaced)
    #expect(throws: StoreError.self) { _ = try SyncStore.exists(at: path) }
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == log && !log.isEmpty)
    withExtendedLifetime(store) {}
  }

  /// Leaves a file that SQLite has begun, without a table.
  private func begin() throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 1") }
    try queue.close()
  }

  private func kind(_ access: StoreAccess) -> StoreError.Kind? {
    do { _ = try SQLiteStorage(path: path, access: access) } catch { return error.kind }
    return nil
  }

  @Test func `a half-made file in the place of a store is refused as damaged`() throws {
    do { try world.open("store").accept(world.put("a", [:])) }
    for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
    try begin()
    let before = try Data(contentsOf: URL(fileURLWithPath: path))

    for access in [StoreAccess.reading, .changing, .making] { #expect(kind(access) == .damaged, "\(access)") }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
  }

  @Test func `a store whose first making was cut off is said to be empty, and made by the next sync`() throws {
    try begin()

    #expect(kind(.reading) == .missing)
    #expect(kind(.making) == nil)
    #expect(kind(.reading) == nil)
  }

  @Test func `a failure of a file that is gone is not taken for one of the disk`() throws {
    let store = try world.open("store")
    let path = path

    let error = #expect(throws: StoreError.self) {
      try store.read { _ in
        try FileManager.default.removeItem(atPath: path)
        throw DatabaseError(resultCode: .SQLITE_IOERR)
      }
    }

    #expect(error?.kind == .replaced)
  }
}
