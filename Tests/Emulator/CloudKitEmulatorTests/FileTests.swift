import CloudKitEmulator
import CloudKitSchema
import Foundation
import GRDB
import TestSupport
import Testing

@Suite(.serialized) struct FileTests {
  static func write(_ path: String) throws -> (Fixture, token: String) {
    let fixture = try Fixture(path: path)
    try fixture.createZone("notes")
    try fixture.createZone("old")
    let fields = [
      #""s":{"value":"é😀"},"d":{"value":0.1},"i":{"value":9007199254740993},"b":{"value":"AAEC","type":"BYTES"}"#,
      #""t":{"value":5,"type":"TIMESTAMP"},"l":{"value":{"latitude":1.5,"longitude":2.5,"timestamp":7}},"e":{"value":[]}"#,
      #""r":{"value":{"recordName":"b","action":"DELETE_SELF"}},"x":{"value":["a"]},"z":{"value":"q","type":"STRING","isEncrypted":true}"#,
    ]
    _ = try fixture.modify(Fixture.save("b", #""e":{"value":["q"]}"#), Fixture.save("gone"))
    _ = try fixture.modify(
      Fixture.save("a", fields.joined(separator: ","), more: #","parent":{"recordName":"b"},"createShortGUID":true"#)
    )
    let token = try #require(try fixture.changes().zones[0]["syncToken"] as? String)
    _ = try fixture.modify(Fixture.delete("gone"))
    _ = try fixture.deleteZone("old")
    _ = try fixture.post("records/modify", #"{"operations":[\#(Fixture.save("p"))]}"#, database: "public")
    return (fixture, token)
  }

  @Test func `everything is there after a restart, and goes on where it was`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let (dump, token, lookup): (String, String, String) = try {
        let (fixture, token) = try Self.write(path)
        return (fixture.emulator.dump(), token, try Self.lookup(fixture))
      }()

      let fixture = try Fixture(path: path)

      #expect(fixture.emulator.dump() == dump)
      #expect(try Self.lookup(fixture) == lookup)
      let page = try #require(try fixture.changes(token).zones[0]["records"] as? [[String: Any]])
      #expect(page.map { $0["recordName"] as? String } == ["gone"])
      #expect(try fixture.modify(Fixture.save("c", #""i":{"value":"text"}"#)).outcomes == ["BAD_REQUEST"])
      _ = try fixture.modify(Fixture.delete("b"))
      #expect(fixture.emulator.record("a", in: .private(of: "ana", "iCloud.test"), zone: "notes") == nil)
    }
  }

  static func lookup(_ fixture: Fixture) throws -> String {
    try fixture.post("records/lookup", lookup).text
  }

  @Test func `a copy of the files taken at any moment holds every answered write`() async throws {
    try await withTemporaryDirectory { directory in
      let fixture = try Fixture(path: directory.appendingPathComponent("data.sqlite").path)
      try fixture.createZone("notes")
      for round in 0..<10 {
        _ = try fixture.modify(Fixture.save("a\(round)"), Fixture.save("b\(round)"), atomic: true)
        // What a process leaves behind that is killed right now.
        let image = directory.appendingPathComponent("image\(round)")
        try FileManager.default.createDirectory(at: image, withIntermediateDirectories: true)
        for name in ["data.sqlite", "data.sqlite-wal"] {
          let source = directory.appendingPathComponent(name)
          guard FileManager.default.fileExists(atPath: source.path) else { continue }
          try FileManager.default.copyItem(at: source, to: image.appendingPathComponent(name))
        }

        let survivor = try Emulator(path: image.appendingPathComponent("data.sqlite").path)

        #expect(survivor.dump() == fixture.emulator.dump())
      }
    }
  }

  @Test func `a process killed after an answer leaves that write behind`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
        let (fixture, _) = try Self.write(path)
        _ = try fixture.modify(Fixture.save("last"))
        kill(getpid(), SIGKILL)
      }

      let survivor = try Emulator(path: path)

      #expect(survivor.record("last", in: .private(of: "ana", "iCloud.test"), zone: "notes") != nil)
    }
  }

  @Test(arguments: [1, 3, 10, 30, 100])
  func `killed at any moment, the file has every answered batch, and each batch whole`(milliseconds: Int) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let log = directory.appendingPathComponent("answered").path
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, log = log as String, milliseconds = milliseconds as Int] in
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        _ = try fixture.query(#""filterBy":[]"#)
        let answered = try #require(fopen(log, "w"))
        Thread.detachNewThread {
          // Real time: where in its work the process dies is to be left to chance.
          usleep(UInt32(milliseconds) * 1000)
          kill(getpid(), SIGKILL)
        }
        for round in 0... {
          _ = try fixture.modify(
            Fixture.save("a\(round)", #""n":{"value":\#(round)}"#),
            Fixture.save("b\(round)"),
            Fixture.delete("a\(round - 3)"),
            atomic: true
          )
          fputs("\(round)\n", answered)
          fflush(answered)
        }
      }
      let answered = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").compactMap { Int($0) }

      let survivor = try Fixture(path: path)
      // Queries do not see what was made later than now.
      survivor.pass(1e6)

      let names = survivor.emulator.records(in: .private(of: "ana", "iCloud.test"), zone: "notes").map(\.recordName)
      let rounds = names.count { $0.hasPrefix("b") }
      #expect(rounds == answered.count || rounds == answered.count + 1)
      let expected = (max(0, rounds - 3)..<rounds).map { "a\($0)" } + (0..<rounds).map { "b\($0)" }
      #expect(Set(names) == Set(expected))
      if rounds > 0 {
        #expect(try survivor.query(#""filterBy":[]"#).names.count == min(200, names.count))
      }
    }
  }

  @Test(arguments: ["PRAGMA user_version = 99", "CREATE TABLE stranger (a)"])
  func `a file of another kind is refused and left as it is`(sql: String) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: sql) }

      let error = #expect(throws: (any Error).self) { try Emulator(path: path) }

      #expect(String(describing: error).contains("program"))
      let tables = try DatabaseQueue(path: path).inDatabase {
        try String.fetchAll($0, sql: "SELECT name FROM sqlite_master")
      }
      #expect(tables.allSatisfy { $0 == "stranger" })
    }
  }

  @Test(
    arguments: [
      "body = substr(body, 1, length(body) - 1)", "body = body || 'x'", "body = '[]'", "body = x'7b80'",
      #"body = '{"n":{"value":"text","type":"INT64"}}'"#, #"body = '{"n":{"value":1,"type":"NUMBER"}}'"#,
      #"body = '{"n":{"type":"INT64"}}'"#, #"body = '{"n":{"value":{"size":1},"type":"ASSETID"}}'"#,
      "createdTimestamp = NULL", "modifiedUserRecordName = NULL",
    ]
  )
  func `a damaged record is an error of the server, never one that is not there, and nothing rests on it`(
    damage: String
  ) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try Fixture.makeDamagedFile(path, damage)

      let fixture = try Fixture(path: path)

      #expect(try fixture.post("records/lookup", Self.lookup).code == "INTERNAL_ERROR")
      #expect(try fixture.modify(Fixture.save("a"), Fixture.save("c")).code == "INTERNAL_ERROR")
      #expect(try fixture.query(#""filterBy":[]"#).code == "INTERNAL_ERROR")
      #expect(try fixture.query(#""sortBy":[{"fieldName":"n"}]"#).code == "INTERNAL_ERROR")
      #expect(try fixture.changes().code == "INTERNAL_ERROR")
      #expect(try fixture.modify(Fixture.save("d")).outcomes == ["saved"])
      let names = fixture.emulator.records(in: .private(of: "ana", "iCloud.test"), zone: "notes").map(\.recordName)
      #expect(names == ["b", "d"])
    }
  }

  @Test func `whatever bytes a row holds, requests are answered`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try { _ = try Self.write(path) }()
      var random = SplitMix64(seed: 7)
      try DatabaseQueue(path: path).inDatabase { db in
        // A tombstone is damaged too, which no lookup reads.
        let sound = try #require(try Data.fetchOne(db, sql: "SELECT body FROM record WHERE name = 'a'"))
        for number in 0..<600 {
          var body = sound
          for _ in 0...random.next() % 3 {
            body[Int.random(in: body.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
          }
          if random.next() % 4 == 0 { body = body.prefix(Int.random(in: body.indices, using: &random)) }
          let system = "createdTimestamp, createdUserRecordName, modifiedTimestamp, modifiedUserRecordName"
          try db.execute(
            sql: """
              INSERT INTO record (zone, name, sequence, deleted, type, tag, \(system), body)
              SELECT zone, ?, ?, ?, type, tag, \(system), ? FROM record WHERE name = 'a'
              """,
            arguments: ["x\(number)", 1000 + number, number % 5 == 0, body]
          )
        }
      }
      let fixture = try Fixture(path: path)
      var outcomes: [String: Int] = [:]
      for number in 0..<600 {
        let record = #"{"recordName":"x\#(number)"}"#
        let answer = try fixture.post("records/lookup", #"{"zoneID":{"zoneName":"notes"},"records":[\#(record)]}"#)
        outcomes[answer.code ?? answer.outcomes.joined(), default: 0] += 1
      }

      #expect(Set(outcomes.keys) == ["saved", "NOT_FOUND", "INTERNAL_ERROR"])
      #expect(try fixture.query(#""filterBy":[]"#).code == "INTERNAL_ERROR")
    }
  }

  @Test func `every value is read as it was written`() throws {
    let fixture = try Fixture.withZone()
    let database = EmulatorDatabase.private(of: "ana", "iCloud.test")
    let details = ["altitude": -0.5, "timestamp": -9_007_199_254_740_992]
    let place = EmulatorLocation(latitude: -90, longitude: 1e-9, details: details)
    let strings = ["", "é", "\0\u{1F}\"\\/😀\u{2028}"].map { EmulatorValue.string($0) }
    let integers = [Int64.min, .max, 9_007_199_254_740_993].map { EmulatorValue.int64($0) }
    let doubles = [3, 0.1, .leastNonzeroMagnitude, 1.7976931348623157e308, 9.223372036854776e18, 9_007_199_254_740_994]
      .map { EmulatorValue.double($0) }
    let references = [EmulatorReference(recordName: "b"), EmulatorReference(recordName: "b", action: .validate)]
      .map { EmulatorValue.reference($0) }
    var fields: [String: EmulatorValue] = [
      "s": strings[2], "strings": .list(.string, strings), "i": integers[0], "integers": .list(.int64, integers),
      "d": doubles[0], "doubles": .list(.double, doubles), "b": .bytes(Data(0...255)),
      "blobs": .list(.bytes, [.bytes(Data())]), "t": .timestamp(.max), "times": .list(.timestamp, [.timestamp(-1)]),
      "l": .location(place), "places": .list(.location, [.location(place)]), "r": references[1],
      "references": .list(.reference, references),
    ]
    let save = { (fields: [String: EmulatorValue]) in
      try fixture.emulator.save(
        in: database,
        zone: "notes",
        recordType: "Note",
        recordName: "a",
        fields: fields,
        at: fixture.now
      )
    }
    _ = try fixture.modify(Fixture.save("b"))

    #expect(try save(fields).fields == fields)
    fields["strings"] = .list(nil, [])
    #expect(try save(["strings": .list(.string, [])]).fields == fields)
    let asset = try fixture.upload("picture", "a")
    _ = try fixture.modify(Fixture.save("a", #""photo":{"value":\#(asset)}"#))
    #expect(try fixture.open(try fixture.downloadURL("a")).body == Data("picture".utf8))
  }

  @Test func `an index made of stored records has the order of one that every save extends`() throws {
    let sorts =
      ["n", "s", "d", "t", "b"].map { #"{"fieldName":"\#($0)"}"# }
      + ["recordName", "createdTimestamp", "modifiedTimestamp", "createdUserRecordName", "parent"].map {
        #"{"systemFieldName":"\#($0)"}"#
      }
    let values = [(-2, "é", -0.5), (0, "", 0.0), (9_007_199_254_740_993, "ab", 1e300), (-9, "a", -0.0)]
    let saves = values.enumerated().map { number, value in
      Fixture.save(
        "a\(number)",
        #""n":{"value":\#(value.0)},"s":{"value":"\#(value.1)"},"d":{"value":\#(value.2),"type":"DOUBLE"},"#
          + #""t":{"value":\#(-number),"type":"TIMESTAMP"},"b":{"value":"AA0\#(number)","type":"BYTES"},"#
          + #""r":{"value":{"recordName":"a\#(3 - number)","action":"NONE"}}"#,
        more: number == 3 ? #","parent":{"recordName":"a0"}"# : ""
      )
    }
    let (early, late) = (try Fixture.withZone(), try Fixture.withZone())
    let orders = { (fixture: Fixture) throws -> [[String]] in
      fixture.pass(10)
      return try sorts.map { try fixture.query(#""sortBy":[\#($0)]"#).names }
    }
    for fixture in [early, late] { _ = try fixture.modify(saves[0], Fixture.save("bare")) }

    _ = try orders(early)
    for fixture in [early, late] {
      for save in saves { #expect(try fixture.modify(save).outcomes == ["saved"]) }
    }

    let (found, expected) = (try orders(late), try orders(early))
    #expect(found == expected)
    #expect(found.allSatisfy { $0.count == 5 })
    #expect(found[0] == ["bare", "a3", "a0", "a1", "a2"])
    #expect(found[2] == ["bare", "a0", "a1", "a3", "a2"])
  }

  @Test func `a subscription that cannot be written fails alone, a zone ends the request`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try { try Fixture(path: path).createZone("notes") }()
      try DatabaseQueue(path: path).inDatabase { db in
        for (table, column) in [("subscription", "id"), ("zone", "name")] {
          try db.execute(
            sql: """
              CREATE TRIGGER \(table)Fails BEFORE INSERT ON \(table) WHEN NEW.\(column) = 'bad'
              BEGIN SELECT RAISE(ABORT, 'full'); END
              """
          )
        }
      }
      let fixture = try Fixture(path: path)
      let subscriptions = ["bad", "good"].map {
        #"{"operationType":"create","subscription":\#(Fixture.querySubscription($0))}"#
      }
      let zones = ["good", "bad"].map { #"{"operationType":"create","zone":{"zoneID":{"zoneName":"\#($0)"}}}"# }

      let answer = try fixture.post("subscriptions/modify", Self.operations(subscriptions))

      #expect(answer.status == 200 && answer.subscriptionIDs == ["INTERNAL_ERROR", "good"])
      #expect(try fixture.post("zones/modify", Self.operations(zones)).code == "INTERNAL_ERROR")
    }
  }

  private static func operations(_ list: [String]) -> String { #"{"operations":[\#(list.joined(separator: ","))]}"# }

  private static let lookup = #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"}]}"#

  @Test func `a file serves one emulator at a time`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let first = try Fixture(path: path)

      #expect(throws: (any Error).self) { try Emulator(path: path) }
      #expect(try first.post("zones/list").status == 200)
    }
  }
}

extension [String: EmulatorValue] {
  fileprivate func removing(_ name: String) -> Self { filter { $0.key != name } }
}
