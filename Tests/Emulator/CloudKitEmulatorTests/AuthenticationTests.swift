import CloudKitEmulator
import Crypto
import Foundation
import Testing

@Suite(.serialized) struct AuthenticationTests {
  /// The public key and signature of the test vector in the reference, made with openssl.
  static let publicKey =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENiuLqxMHrlm5zu+odG5a/5XYdNA1HdHZphl1sZUCnQiSOgEjR1dq2Hh9BuIonB+U8JVzzboAmYrZ3HTPj7XDAA=="
  static let signature =
    "MEYCIQCkrT0mbYIUq0A9eWuvlxz9P+gcV/uTLgfkQVo5rGgGWQIhAOsPhLgXVj1nZoafaDTeCRBMHYAgtpLFZgm74WzvVEXk"
  static let date = "2026-01-02T03:04:05Z"
  static let signedAt = Date(timeIntervalSince1970: 1_767_323_045)

  static func emulator() throws -> (Emulator, keyID: String) {
    let key = try ServerKey("-----BEGIN PUBLIC KEY-----\n\(publicKey)\n-----END PUBLIC KEY-----\n")
    var configuration = EmulatorConfiguration()
    configuration.serverKeys = [key]
    return (try Emulator(configuration: configuration), key.keyID)
  }

  static func vector(keyID: String, date: String = date, body: String = #"{"query":{"recordType":"Note"}}"#)
    -> EmulatorRequest
  {
    EmulatorRequest(
      path: "/database/1/iCloud.test.emulator/development/public/records/query",
      headers: [
        EmulatorHeader("X-Apple-CloudKit-Request-KeyID", keyID),
        EmulatorHeader("X-Apple-CloudKit-Request-ISO8601Date", date),
        EmulatorHeader("X-Apple-CloudKit-Request-SignatureV1", signature),
      ],
      body: Data(body.utf8)
    )
  }

  @Test func `the reference's test vector is let in, for ten minutes`() throws {
    let (emulator, keyID) = try Self.emulator()
    let request = Self.vector(keyID: keyID)

    let statuses = [0.0, 600, -600, 601, -601].map {
      emulator.handle(request, at: Self.signedAt.addingTimeInterval($0)).response?.status
    }

    // 404: the request is authentic, and there is no type `Note` yet.
    #expect(statuses == [404, 404, 404, 401, 401])
  }

  @Test func `a changed byte, date, key or path is refused, and nobody is told which`() throws {
    let (emulator, keyID) = try Self.emulator()
    var otherPath = Self.vector(keyID: keyID)
    otherPath.path = "/database/1/iCloud.test.emulator/development/public/records/lookup"
    var incomplete = Self.vector(keyID: keyID)
    incomplete.headers.removeLast()
    let requests = [
      Self.vector(keyID: keyID, body: #"{"query":{"recordType":"Nota"}}"#),
      Self.vector(keyID: keyID, date: "2026-01-02T03:04:06Z"), Self.vector(keyID: keyID, date: "2026-01-02 03:04:05Z"),
      Self.vector(keyID: String(repeating: "0", count: 64)), otherPath, incomplete,
    ]

    let answers = try requests.map { Answer(try #require(emulator.handle($0, at: Self.signedAt).response)) }

    #expect(answers.allSatisfy { $0.status == 401 && $0.code == "AUTHENTICATION_FAILED" })
    #expect(Set(answers.map(\.reason)).count == 1)
  }

  @Test func `a signed request reaches the public database alone, and its body may be hashed both ways when empty`()
    throws
  {
    let key = P256.Signing.PrivateKey()
    var configuration = EmulatorConfiguration()
    let registered = try ServerKey(key.publicKey.pemRepresentation)
    configuration.serverKeys = [registered]
    let emulator = try Emulator(configuration: configuration)
    let send = { (path: String, hash: String) in
      let signature = try key.signature(for: Data("\(Self.date):\(hash):\(path)".utf8)).derRepresentation
      let request = EmulatorRequest(
        method: "GET",
        path: path,
        headers: [
          EmulatorHeader("x-apple-cloudkit-request-keyid", registered.keyID),
          EmulatorHeader("x-apple-cloudkit-request-iso8601date", Self.date),
          EmulatorHeader("x-apple-cloudkit-request-signaturev1", signature.base64EncodedString()),
        ]
      )
      return emulator.handle(request, at: Self.signedAt).response?.status
    }
    let base = "/database/1/iCloud.test/development"

    #expect(try send("\(base)/public/zones/list", "") == 200)
    #expect(try send("\(base)/public/zones/list", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=") == 200)
    #expect(try send("\(base)/private/zones/list", "") == 401)
    #expect(try send("\(base)/public/users/caller", "") == 401)
  }

  @Test func `an API token alone reads the public database, and is sent to sign in elsewhere`() throws {
    let fixture = try Fixture()
    let send = { (operation: String, database: String) in
      try fixture.post(operation, #"{"records":[]}"#, database: database, query: "ckAPIToken=token")
    }

    #expect(try send("records/lookup", "public").status == 200)
    for (operation, database) in [("zones/list", "private"), ("zones/list", "shared"), ("users/caller", "public")] {
      let answer = try send(operation, database)
      #expect(answer.status == 421 && answer.code == "AUTHENTICATION_REQUIRED")
      #expect(answer.reason == "request needs authorization" && answer.object["redirectURL"] is String)
    }
  }

  @Test func `no credentials are a 400`() throws {
    let answer = try Fixture().post("zones/list", query: "")

    #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
  }

  @Test func `every authenticated answer renews the token, errors too, and old ones keep working`() throws {
    let fixture = try Fixture()
    let header = "X-Apple-CloudKit-Web-Auth-Token"

    let first = try fixture.post("users/caller", database: "public")
    let renewed = try #require(first.header(header))
    let second = try fixture.post("users/caller", database: "public", query: "ckAPIToken=t&ckWebAuthToken=\(renewed)")
    let failed = try fixture.post("zones/modify", "{}", query: "ckAPIToken=t&ckWebAuthToken=\(renewed)")
    let old = try fixture.post("users/caller", database: "public")

    #expect(renewed != "ana" && second.header(header) != renewed && failed.status == 400)
    #expect(failed.header(header) != nil)
    let names = [first, second, old].map { $0.object["userRecordName"] as? String }
    #expect(Set(names).count == 1)
    #expect(names[0]?.wholeMatch(of: /_[0-9a-f]{32}/) != nil)
  }

  @Test func `a plus that is not percent-encoded names somebody else`() throws {
    let fixture = try Fixture()
    let caller = { (token: String) in
      try fixture.post("users/caller", database: "public", query: "ckAPIToken=t&ckWebAuthToken=\(token)")
        .object["userRecordName"] as? String
    }

    #expect(try caller("a%2Bb") != caller("a+b"))
    #expect(try caller("a%20b") == caller("a+b"))
  }

  @Test func `users see their own private database and share the public one`() throws {
    let fixture = try Fixture()
    let bob = "ckAPIToken=token&ckWebAuthToken=bob"
    let save = #"{"operations":[\#(Fixture.save("a", type: "create"))]}"#
    let look = #"{"records":[{"recordName":"a"}]}"#

    _ = try fixture.post("records/modify", save)
    _ = try fixture.post("records/modify", save, database: "public")

    #expect(try fixture.post("records/lookup", look, query: bob).outcomes == ["NOT_FOUND"])
    #expect(try fixture.post("records/lookup", look, database: "public", query: bob).outcomes == ["saved"])
    let edit = #"{"operations":[\#(Fixture.save("a"))]}"#
    #expect(try fixture.post("records/modify", edit, database: "public", query: bob).outcomes == ["ACCESS_DENIED"])
    let world = try fixture.post(
      "records/modify",
      #"{"operations":[\#(Fixture.save("b"))]}"#,
      database: "public",
      query: "ckAPIToken=t"
    )
    #expect(world.records[0]["reason"] as? String == "CREATE operation not permitted")
  }

  @Test func `strict authentication knows its tokens and users`() throws {
    var configuration = EmulatorConfiguration()
    configuration.strictAuth = true
    configuration.apiTokens = ["good"]
    configuration.users = ["ana"]
    let fixture = try Fixture(configuration)
    let status = { (query: String) in try fixture.post("zones/list", query: query).status }

    let token = try #require(try fixture.signIn("ana"))
    #expect(try status("ckAPIToken=good&ckWebAuthToken=\(token)") == 200)
    #expect(try status("ckAPIToken=bad&ckWebAuthToken=\(token)") == 401)
    #expect(try fixture.signIn("eve") == nil)
    // A name is no token, nor is a token whose name, renewal or signature was changed.
    for forged in ["eve", "ana", "ana~7", "eve\(token.dropFirst(3))", "\(token)0", "\(token.dropLast())"] {
      #expect(try status("ckAPIToken=good&ckWebAuthToken=\(forged)") == 421, "\(forged)")
    }
    let renewed = try fixture.post("zones/list", query: "ckAPIToken=good&ckWebAuthToken=\(token)")
    let next = try #require(renewed.header("X-Apple-CloudKit-Web-Auth-Token"))
    #expect(try status("ckAPIToken=good&ckWebAuthToken=\(next)") == 200 && next != token)

    var other = configuration
    other.secret = "another"
    #expect(try Fixture(other).post("zones/list", query: "ckAPIToken=good&ckWebAuthToken=\(token)").status == 421)
  }

  @Test func `users are discovered by the name they signed in with`() throws {
    let fixture = try Fixture()
    _ = try fixture.post("users/caller", database: "public", query: "ckAPIToken=t&ckWebAuthToken=ana@example.org")

    let answer = try fixture.post(
      "users/discover",
      #"{"lookupInfos":[{"emailAddress":"ana@example.org"},{"emailAddress":"nobody@example.org"}]}"#,
      database: "public"
    )

    let users = try #require(answer.object["users"] as? [[String: Any]])
    #expect(users.count == 1)
    #expect((users[0]["lookupInfo"] as? [String: Any])?["emailAddress"] as? String == "ana@example.org")
    #expect(try fixture.post("users/discover", database: "public", method: "GET").status == 500)
  }

  @Test func `everybody has a Users record in the public database and can look it up`() throws {
    let fixture = try Fixture()
    let name = try #require(try fixture.post("users/caller", database: "public").object["userRecordName"] as? String)

    let answer = try fixture.post("records/lookup", #"{"records":[{"recordName":"\#(name)"}]}"#, database: "public")
    let queried = try fixture.post("records/query", #"{"query":{"recordType":"Users"}}"#, database: "public")

    #expect(answer.records[0]["recordType"] as? String == "Users")
    #expect(queried.status == 400)
  }
}
