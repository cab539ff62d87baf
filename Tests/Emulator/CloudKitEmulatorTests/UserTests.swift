import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct UserTests {
  static let ana = EmulatorUser(
    name: "ana",
    emailAddress: "Ana@example.org",
    phoneNumber: "+34 600 123",
    nameComponents: ["givenName": "Ana", "familyName": "Ruiz"]
  )

  static func fixture() throws -> Fixture {
    var configuration = EmulatorConfiguration()
    configuration.directory = [
      ana, EmulatorUser(name: "berta", emailAddress: "berta@example.org", nameComponents: ["givenName": "Berta"]),
      EmulatorUser(name: "carl", emailAddress: "carl@example.org", isDiscoverable: false),
    ]
    return try Fixture(configuration)
  }

  static func users(_ answer: Answer) throws -> [[String: Any]] {
    try #require(answer.object["users"] as? [[String: Any]])
  }

  @Test func `the caller's identity comes flat and wrapped`() throws {
    let answer = try Self.fixture().post("users/caller", database: "public", method: "GET")

    let wrapped = try #require(try Self.users(answer).first)
    for identity in [answer.object, wrapped] {
      #expect((identity["userRecordName"] as? String)?.hasPrefix("_") == true)
      #expect((identity["lookupInfo"] as? [String: Any])?["emailAddress"] as? String == "Ana@example.org")
      #expect((identity["nameComponents"] as? [String: Any])?["familyName"] as? String == "Ruiz")
    }
  }

  @Test func `people are discovered by address, number and record name, unless they do not wish it`() throws {
    let fixture = try Self.fixture()
    let me = try #require(try fixture.post("users/caller", database: "public").object["userRecordName"] as? String)
    let infos = [
      #"{"emailAddress":"ana@EXAMPLE.org"}"#, #"{"phoneNumber":"+34600123"}"#, #"{"userRecordName":"\#(me)"}"#,
      #"{"emailAddress":"carl@example.org"}"#, #"{"phoneNumber":""}"#, "{}",
    ]

    let users = try Self.users(
      fixture.post("users/discover", #"{"lookupInfos":[\#(infos.joined(separator: ","))]}"#, database: "public")
    )

    #expect(users.map { $0["userRecordName"] as? String } == [me, me, me])
    #expect((users[1]["lookupInfo"] as? [String: Any])?["phoneNumber"] as? String == "+34600123")
  }

  @Test func `the deprecated calls answer in their older shape`() throws {
    let fixture = try Self.fixture()
    let post = { (operation: String, body: String) in
      try fixture.post("users/\(operation)", body, database: "public")
    }

    let me = try fixture.post("users/current", database: "public", method: "GET").object
    #expect(me["firstName"] as? String == "Ana" && me["lastName"] as? String == "Ruiz")
    let name = try #require(me["userRecordName"] as? String)
    let byEmail = try Self.users(post("lookup/email", #"{"users":[{"emailAddress":"ana@example.org"}]}"#))
    #expect(byEmail.map { $0["userRecordName"] as? String } == [name])
    let byID = try Self.users(post("lookup/id", #"{"users":[{"userRecordName":"\#(name)"},{"userRecordName":"_x"}]}"#))
    #expect(byID.map { $0["emailAddress"] as? String } == ["Ana@example.org"])
    #expect(try Self.users(post("lookup/contacts", "{}")).map { $0["firstName"] as? String } == ["Berta"])
  }
}
