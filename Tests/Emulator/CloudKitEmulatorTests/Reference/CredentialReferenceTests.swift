import CloudKitEmulator
import Foundation
import Testing

/// The matrix of section 1.3 and the life of tokens of 1.4.
@Suite(.serialized) struct CredentialReferenceTests {
  /// Status by credential: an API token alone, with a web-auth token, and a server-to-server key.
  static let matrix: [(path: String, body: String, statuses: [Int])] = [
    ("public/records/lookup", #"{"records":[]}"#, [200, 200, 200]),
    ("public/zones/list", "{}", [200, 200, 200]),
    ("private/records/lookup", #"{"records":[]}"#, [421, 200, 401]),
    ("shared/zones/list", "{}", [421, 200, 401]),
    ("public/users/caller", "{}", [421, 200, 401]),
    ("public/users/discover", #"{"lookupInfos":[]}"#, [421, 200, 401]),
    ("public/users/lookup/email", #"{"users":[]}"#, [421, 200, 401]),
    ("public/records/accept", #"{"shortGUIDs":[]}"#, [421, 200, 401]),
    ("public/records/resolve", #"{"shortGUIDs":[]}"#, [200, 200, 401]),
    ("public/subscriptions/list", "{}", [421, 200, 200]),
    ("/device/1/iCloud.test/development/tokens/create", #"{"apnsEnvironment":"development"}"#, [421, 200, 200]),
  ]

  @Test(arguments: matrix)
  func `each credential reaches what the matrix says`(row: (path: String, body: String, statuses: [Int])) throws {
    let curl = try Curl(Curl.knowingKey())

    let world = try curl(row.path, row.body, query: "ckAPIToken=token")
    let user = try curl(row.path, row.body)
    let server = try curl.signed(row.path, row.body)

    #expect([world, user, server].map(\.status) == row.statuses)
    #expect(world.header("X-Apple-CloudKit-Web-Auth-Token") == nil)
    #expect(user.header("X-Apple-CloudKit-Web-Auth-Token") != nil)
    if world.status == 421 {
      let pattern =
        #"{"uuid":"*","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"request needs authorization","redirectURL":"*"}"#
      #expect(world.lacks(pattern) == [])
    }
    if server.status == 401 {
      #expect(server.lacks(#"{"uuid":"*","serverErrorCode":"AUTHENTICATION_FAILED","redirectURL":null}"#) == [])
    }
  }

  @Test func `what a key writes has one author, who is none of the users`() throws {
    let curl = try Curl(Curl.knowingKey())
    let create = #"{"operations":[{"operationType":"create","record":{"recordType":"Note"}}]}"#
    let author = { (answer: Answer) in
      try #require((answer.records[0]["created"] as? [String: Any])?["userRecordName"] as? String)
    }

    let authors = try [curl.signed("public/records/modify", create), curl.signed("public/records/modify", create)]
      .map(author)

    #expect(authors[0] == authors[1] && authors[0].wholeMatch(of: /_[0-9a-f]{32}/) != nil)
    #expect(try curl("public/users/caller").object["userRecordName"] as? String != authors[0])
    #expect(try author(curl("public/records/modify", create)) != authors[0])
  }

  @Test func `tokens end by the time of the request, and each answer brings a new one`() throws {
    var configuration = EmulatorConfiguration()
    configuration.webAuthTokenLifetime = .seconds(1800)
    let curl = try Curl(configuration)
    let send = { (token: String) in try curl("private/zones/list", query: "ckAPIToken=t&ckWebAuthToken=\(token)") }
    let header = "X-Apple-CloudKit-Web-Auth-Token"

    let first = try #require(try send("ana").header(header))
    curl.fixture.pass(1700)
    let second = try #require(try send(first).header(header))
    curl.fixture.pass(200)
    let late = try send(first)
    let renewed = try send(second)

    #expect(late.status == 421 && late.object["redirectURL"] is String && late.header(header) == nil)
    #expect(renewed.status == 200)
    curl.fixture.pass(1801)
    #expect(try send(second).status == 421)
  }

  @Test func `who ticks the box stays signed in for two weeks`() throws {
    var configuration = EmulatorConfiguration()
    configuration.webAuthTokenLifetime = .seconds(1800)
    configuration.directory = [EmulatorUser(name: "ana")]
    let curl = try Curl(configuration)
    let page = try curl("/sign-in", query: "").text
    let signIn = { (query: String) in
      String(try #require(try curl("/sign-in", query: query).text.firstMatch(of: /<code>(.*)<\/code>/)?.1))
    }
    let status = { (token: String) in
      try curl("private/zones/list", query: "ckAPIToken=t&ckWebAuthToken=\(token)").status
    }

    #expect(page.contains(#"<a href="/sign-in?user=ana&amp;keep=1">"#))
    let (short, long) = (try signIn("user=ana"), try signIn("user=ana&keep=1"))
    curl.fixture.pass(13 * 86_400)
    #expect(try [status(short), status(long)] == [421, 200])
    curl.fixture.pass(86_400)
    #expect(try status(long) == 421)
  }
}
