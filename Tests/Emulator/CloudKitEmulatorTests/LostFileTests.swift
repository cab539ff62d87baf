import Foundation
import Testing

@testable import CloudKitEmulator

/// Data files that another program takes away or changes under a running emulator.
@Suite(.serialized) struct LostFileTests {
  private static let ana = EmulatorDatabase.private(of: "ana", "iCloud.test")

  /// An act of another program on the file at a path, and the loss that the emulator reports.
  enum Act: CaseIterable {
    case delete, move, replace, overwrite, cut, deleteLog, moveLog, cutLog

    var loss: DataFile.Loss {
      switch self {
      case .delete, .move: .gone
      case .replace: .replaced
      case .overwrite, .cut: .changed
      case .deleteLog, .moveLog: .logGone
      case .cutLog: .logChanged
      }
    }

    func callAsFunction(_ path: String, other: String) throws {
      let log = path + "-wal"
      switch self {
      case .delete: unlink(path)
      case .move: rename(path, path + ".old")
      case .replace: rename(other, path)
      case .overwrite: try Data(contentsOf: URL(fileURLWithPath: other)).write(to: URL(fileURLWithPath: path))
      case .cut: truncate(path, 0)
      case .deleteLog: unlink(log)
      case .moveLog: rename(log, log + ".old")
      case .cutLog: truncate(log, 0)
      }
    }
  }

  /// A data file with a record, under a running emulator, and another one with the record `other`.
  private static func withFiles(_ body: (Fixture, _ path: String, _ other: String) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      let (path, other) = (
        directory.appending(path: "data.sqlite").path, directory.appending(path: "other.sqlite").path
      )
      try {
        let fixture = try Fixture(path: other)
        try fixture.createZone("notes")
        _ = try fixture.modify(Fixture.save("other"))
      }()
      let fixture = try Fixture(path: path)
      try fixture.createZone("notes")
      #expect(try fixture.modify(Fixture.save("a")).outcomes == ["saved"])
      try await body(fixture, path, other)
    }
  }

  @Test(arguments: Act.allCases)
  func `an emulator whose file is lost accepts no write and says why`(act: Act) async throws {
    try await Self.withFiles { fixture, path, other in
      try act(path, other: other)

      for answer in [
        try fixture.modify(Fixture.save("b")), try fixture.deleteZone("notes"), try fixture.post("zones/list"),
      ] {
        #expect(answer.code == "INTERNAL_ERROR" && answer.reason == act.loss.description)
      }
      let reply = fixture.reply("records/modify", #"{"operations":[\#(Fixture.save("c"))]}"#)
      #expect(reply.summary.result.contains(act.loss.description))
      #expect(throws: DataFile.Loss.self) { try fixture.emulator.snapshot() }
    }
  }

  @Test func `a file that is put back is used again`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appending(path: "data.sqlite").path
      let dump = try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        rename(path, path + ".old")
        #expect(try fixture.modify(Fixture.save("a")).code == "INTERNAL_ERROR")
        rename(path + ".old", path)

        #expect(try fixture.modify(Fixture.save("b")).outcomes == ["saved"])
        return fixture.emulator.dump()
      }()

      #expect(try Emulator(path: path).dump() == dump)
      #expect(dump.contains("Note b") && !dump.contains("Note a"))
    }
  }

  @Test(arguments: [Act.replace, .overwrite])
  func `a file of another program's content gets nothing from the old log`(act: Act) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appending(path: "data.sqlite").path
      var bytes = Data()
      try await Self.withFiles { fixture, lost, other in
        bytes = try Data(contentsOf: URL(fileURLWithPath: other))
        try act(lost, other: other)
        #expect(try fixture.modify(Fixture.save("b")).code == "INTERNAL_ERROR")

        #expect(try Data(contentsOf: URL(fileURLWithPath: lost)) == bytes)
        #expect(!FileManager.default.fileExists(atPath: lost + "-wal"))
        #expect(FileManager.default.fileExists(atPath: lost + "-wal.replaced"))
        try FileManager.default.copyItem(atPath: lost, toPath: path)
      }

      #expect(try Fixture(path: path).emulator.record("other", in: Self.ana, zone: "notes") != nil)
    }
  }

  @Test(arguments: [Act.deleteLog, .moveLog])
  func `a file that lost its log has every acknowledged write after the emulator ends`(act: Act) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appending(path: "data.sqlite").path
      try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        _ = try fixture.modify(Fixture.save("a"))
        try act(path, other: "")
        #expect(try fixture.modify(Fixture.save("b")).code == "INTERNAL_ERROR")
      }()

      let survivor = try Emulator(path: path)

      #expect(survivor.record("a", in: Self.ana, zone: "notes") != nil)
      #expect(survivor.record("b", in: Self.ana, zone: "notes") == nil)
    }
  }

  @Test func `the log of a file behind a link is beside the file`() async throws {
    try await withTemporaryDirectory { directory in
      let (link, path) = (directory.appending(path: "link").path, directory.appending(path: "data.sqlite").path)
      try { try Fixture(path: path).createZone("notes") }()
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
      let fixture = try Fixture(path: link)

      #expect(try fixture.modify(Fixture.save("a")).outcomes == ["saved"])
      unlink(path + "-wal")

      #expect(try fixture.modify(Fixture.save("b")).reason == DataFile.Loss.logGone.description)
    }
  }
}
