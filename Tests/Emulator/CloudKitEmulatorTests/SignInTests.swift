import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct SignInTests {
  static func open(_ fixture: Fixture, _ query: String) throws -> EmulatorResponse {
    try fixture.open("/sign-in?\(query)")
  }

  static func configuration() -> EmulatorConfiguration {
    var configuration = EmulatorConfiguration()
    configuration.directory = [EmulatorUser(name: "ana"), EmulatorUser(name: "<b>&\"quoted\"")]
    return configuration
  }

  @Test func `the page lists the users, escaped, and takes any other name`() throws {
    let page = Answer(try Self.open(Fixture(Self.configuration()), "container=iCloud.test")).text

    #expect(page.contains(#"<a href="/sign-in?user=ana">ana</a>"#))
    #expect(page.contains("&lt;b>&amp;&quot;quoted&quot;") && !page.contains("<b>"))
    #expect(page.contains("<form"))
  }

  @Test func `whoever signs in hands the token to the page that asked, and to no other`() throws {
    var configuration = Self.configuration()
    configuration.allowedOrigins = ["https://app.example.org"]
    let fixture = try Fixture(configuration)
    for (origin, target) in [
      ("https://APP.example.org:443", "https%3A%2F%2Fapp.example.org"),
      ("http://localhost:3000", "http%3A%2F%2Flocalhost%3A3000"),
    ] {
      let headers = [EmulatorHeader("Host", "127.0.0.1:8080"), EmulatorHeader("Origin", origin)]
      let refusal = try fixture.post("zones/list", query: "ckAPIToken=t", headers: headers)
      let address = try #require(refusal.object["redirectURL"] as? String)
      let query = try #require(address.split(separator: "?").last)

      let list = Answer(try Self.open(fixture, String(query))).text
      let link = try #require(list.firstMatch(of: /<a href="\/sign-in\?(user=ana[^"]*)">/)?.1)
      #expect(link == "user=ana&amp;origin=\(target)")
      #expect(list.contains(#"<input type="hidden" name="origin" value=""#))
      let page = Answer(try Self.open(fixture, "user=b%2B%3C%2Fscript%3E&origin=\(target)")).text

      #expect(
        page.contains("postMessage({ckWebAuthToken: token, ckSession: token}, decodeURIComponent(\"\(target)\"));")
      )
      #expect(page.contains(#"decodeURIComponent("b%2B%3C%2Fscript%3E%7E0")"#))
      #expect(page.components(separatedBy: "</script>").count == 2)
    }
  }

  @Test(arguments: [
    "", "&origin=*", "&origin=https%3A%2F%2Fevil.example", "&origin=null", "&origin=%22%3E%3Cscript%3E",
  ])
  func `no other page gets the token`(origin: String) throws {
    let fixture = try Fixture(Self.configuration())

    let list = Answer(try Self.open(fixture, "container=iCloud.test\(origin)")).text
    let page = Answer(try Self.open(fixture, "user=ana\(origin)")).text

    #expect(list.contains(#"<a href="/sign-in?user=ana">ana</a>"#) && !list.contains("hidden"))
    #expect(page.contains("<code>ana~0") && !page.contains("<script") && !page.contains("postMessage"))
  }

  @Test(arguments: ["ckWebAuthToken", "ckSession"])
  func `a callback gets the token in its query`(key: String) throws {
    var configuration = Self.configuration()
    configuration.signInCallback = "http://127.0.0.1:9/back?x=1"
    configuration.signInCallbackKey = key
    configuration.strictAuth = true
    configuration.apiTokens = ["token"]
    let fixture = try Fixture(configuration)

    let response = try Self.open(fixture, "user=ana")

    #expect(response.status == 302)
    let location = try #require(response.header("Location"))
    #expect(location.hasPrefix("http://127.0.0.1:9/back?x=1&\(key)=ana%7E0."))
    let token = try #require(location.split(separator: "=").last)
    #expect(try fixture.post("zones/list", query: "ckAPIToken=token&ckWebAuthToken=\(token)").status == 200)
    #expect(try Self.open(fixture, "user=eve").status == 403)
    #expect(!Answer(try Self.open(fixture, "")).text.contains("<form"))
  }

  @Test func `under the documented rule a token is good for one round trip, also one that fails`() throws {
    var configuration = Self.configuration()
    configuration.strictWebAuth = true
    let fixture = try Fixture(configuration)
    let send = { (token: String, operation: String) in
      try fixture.post(operation, query: "ckAPIToken=t&ckWebAuthToken=\(token)")
    }
    let header = "X-Apple-CloudKit-Web-Auth-Token"

    let first = try #require(try send("ana", "zones/list").header(header))
    #expect(try send("ana", "zones/list").status == 421)
    let failed = try send(first, "zones/modify")
    #expect(failed.status == 400)
    let again = try send(first, "zones/list")
    #expect(again.status == 421 && again.header(header) == nil && again.object["redirectURL"] is String)
    #expect(try send(try #require(failed.header(header)), "zones/list").status == 200)

    let page = Answer(try Self.open(fixture, "user=ana")).text
    let token = String(try #require(page.firstMatch(of: /<code>(.*)<\/code>/)?.1))
    #expect(try send(token, "zones/list").status == 200)
  }
}
