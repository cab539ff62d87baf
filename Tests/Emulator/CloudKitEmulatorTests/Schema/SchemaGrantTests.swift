import CloudKitEmulator
import Foundation
import Testing

/// Who may do what in the public database.
@Suite(.serialized) struct SchemaGrantTests {
  static let world = "ckAPIToken=token"

  static func user(_ name: String) -> String { "ckAPIToken=token&ckWebAuthToken=\(name)" }

  /// A public database with one record of ana's, and a moderator named max.
  static func fixture(_ grants: String) throws -> Fixture {
    var configuration = EmulatorConfiguration()
    configuration.directory = [EmulatorUser(name: "max", roles: ["moderator"])]
    let fixture = try Fixture(configuration)
    let schema = { (grants: String) in
      #"DEFINE SCHEMA CREATE ROLE moderator; RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, n INT64\#(grants));"#
    }
    try fixture.emulator.importSchema(schema(#", GRANT CREATE TO "_icloud""#), container: "iCloud.test")
    #expect(try Self.save("a", fixture, user("ana")) == "saved")
    try fixture.emulator.importSchema(schema(grants), container: "iCloud.test")
    return fixture
  }

  static func save(_ name: String, _ fixture: Fixture, _ query: String) throws -> String {
    let body = #"{"operations":[\#(Fixture.save(name, #""n":{"value":1}"#))]}"#
    return try outcome(fixture.post("records/modify", body, database: "public", query: query))
  }

  static func outcome(_ answer: Answer) -> String {
    let item = answer.records.first
    guard let item, answer.status == 200 else { return answer.reason ?? "none" }
    return item["reason"] as? String ?? (item["deleted"] as? Bool == true ? "deleted" : "saved")
  }

  @Test func `nobody may do anything without a grant`() throws {
    let fixture = try Self.fixture("")
    let ana = Self.user("ana")

    #expect(try Self.save("a", fixture, ana) == "WRITE operation not permitted")
    #expect(try Self.save("b", fixture, ana) == "CREATE operation not permitted")
    let lookup = #"{"records":[{"recordName":"a"}]}"#
    let found = try fixture.post("records/lookup", lookup, database: "public", query: ana)
    #expect(found.outcomes == ["ACCESS_DENIED"])
    #expect(Self.outcome(found) == "READ operation not permitted")
    let query = #"{"query":{"recordType":"Note"}}"#
    let queried = try fixture.post("records/query", query, database: "public", query: ana)
    #expect(queried.status == 403 && queried.reason == "READ operation not permitted")
  }

  @Test func `grants hold for one type alone`() throws {
    let fixture = try Self.fixture("")
    let other = #"{"operations":[{"operationType":"create","record":{"recordType":"Other"}}]}"#

    #expect(try fixture.post("records/modify", other, database: "public").outcomes == ["saved"])
  }

  @Test func `READ to the world, to users, to creators and to a role`() throws {
    let read = { (fixture: Fixture, query: String) in
      try fixture.post("records/query", #"{"query":{"recordType":"Note"}}"#, database: "public", query: query)
    }
    let all = [world, Self.user("ana"), Self.user("bob"), Self.user("max")]
    let names = { (role: String) in
      let fixture = try Self.fixture(", GRANT READ TO \(role)")
      return try all.map { query in
        let answer = try read(fixture, query)
        return answer.status == 200 ? answer.names.joined() : String(answer.status)
      }
    }

    #expect(try names(#""_world""#) == ["a", "a", "a", "a"])
    #expect(try names(#""_icloud""#) == ["403", "a", "a", "a"])
    #expect(try names(#""_creator""#) == ["403", "a", "", ""])
    #expect(try names("moderator") == ["403", "403", "403", "a"])
  }

  private let world = SchemaGrantTests.world

  @Test func `WRITE to creators, to users and to a role, for changes and deletions alike`() throws {
    let all = [Self.world, Self.user("bob"), Self.user("max"), Self.user("ana")]
    let outcomes = { (role: String) in
      let fixture = try Self.fixture(", GRANT WRITE TO \(role)")
      return try all.map { try Self.save("a", fixture, $0) == "saved" }
    }

    #expect(try outcomes(#""_creator""#) == [false, false, false, true])
    #expect(try outcomes(#""_icloud""#) == [false, true, true, true])
    #expect(try outcomes("moderator") == [false, false, true, false])
    let fixture = try Self.fixture(#", GRANT WRITE TO moderator"#)
    let delete = #"{"operations":[\#(Fixture.delete("a"))]}"#
    let bob = try fixture.post("records/modify", delete, database: "public", query: Self.user("bob"))
    let max = try fixture.post("records/modify", delete, database: "public", query: Self.user("max"))
    #expect([bob, max].map(Self.outcome) == ["WRITE operation not permitted", "deleted"])
  }

  @Test func `CREATE counts for users and roles, and for creators only once there is a record`() throws {
    let outcomes = { (role: String) in
      let fixture = try Self.fixture(", GRANT CREATE TO \(role)")
      return try ["", "ana", "max"].map { name in
        try Self.save("b\(name)", fixture, name.isEmpty ? Self.world : Self.user(name)) == "saved"
      }
    }

    #expect(try outcomes(#""_world""#) == [true, true, true])
    #expect(try outcomes(#""_icloud""#) == [false, true, true])
    #expect(try outcomes(#""_creator""#) == [false, false, false])
    #expect(try outcomes("moderator") == [false, false, true])
  }

  @Test func `a key needs CREATE for users and WRITE for creators`() throws {
    let outcomes = { (grants: String) in
      let curl = try Curl(Curl.knowingKey())
      let schema = "DEFINE SCHEMA RECORD TYPE Note (n INT64, \(grants));"
      try curl.fixture.emulator.importSchema(schema, container: "iCloud.test")
      return try (0..<2)
        .map { _ in
          let body = #"{"operations":[\#(Fixture.save("a", #""n":{"value":1}"#))]}"#
          return Self.outcome(try curl.signed("public/records/modify", body))
        }
    }
    let refused = "CREATE operation not permitted"

    #expect(try outcomes(#"GRANT READ, CREATE, WRITE TO "_creator""#) == [refused, refused])
    #expect(try outcomes(#"GRANT CREATE TO "_icloud""#) == ["saved", "WRITE operation not permitted"])
    #expect(try outcomes(#"GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud""#) == ["saved", "saved"])
  }

  @Test func `files are for who may write, and pushes for who may read`() throws {
    let upload = { (grants: String, query: String) in
      let body = #"{"tokens":[{"recordType":"Note","fieldName":"photo"}]}"#
      return try Self.fixture(grants).post("assets/upload", body, database: "public", query: query).status
    }
    let told = { (grants: String) in
      let fixture = try Self.fixture(#", GRANT WRITE TO "_icloud"\#(grants)"#)
      let bob = Self.user("bob")
      let url = try fixture.courierURL(query: bob)
      let subscription =
        #"{"subscriptionID":"s","subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["update"]}"#
      #expect(try fixture.subscribe(subscription, database: "public", query: bob).subscriptionIDs == ["s"])
      #expect(try Self.save("a", fixture, Self.user("ana")) == "saved")
      return try fixture.poll(url) != nil
    }

    #expect(try upload(#", GRANT CREATE TO "_icloud""#, Self.user("bob")) == 200)
    #expect(try upload(#", GRANT CREATE TO "_icloud""#, Self.world) == 403)
    #expect(try upload(#", GRANT WRITE TO "_creator""#, Self.user("bob")) == 200)
    #expect(try upload(#", GRANT READ TO "_world""#, Self.user("bob")) == 403)
    #expect(try told(#", GRANT READ TO "_icloud""#))
    #expect(try !told(#", GRANT READ TO "_creator""#))
  }

  @Test func `private databases know no grants`() throws {
    let fixture = try Self.fixture("")

    #expect(try fixture.post("records/modify", #"{"operations":[\#(Fixture.save("a"))]}"#).outcomes == ["saved"])
  }
}
