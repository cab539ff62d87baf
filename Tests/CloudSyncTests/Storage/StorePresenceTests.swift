import Foundation
import GRDB
import Testing

@testable import CloudSync

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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
}
