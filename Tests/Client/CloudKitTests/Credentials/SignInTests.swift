import CloudKit
import Foundation
import Testing

@Suite(.serialized) struct SignInTests {
  private func token(_ credential: CKCredential) -> String? {
    if case .webAuth("api", let token) = credential { token } else { nil }
  }

  @Test(arguments: [
    "https://notes.example.org/in?ckWebAuthToken=158__54__a%2Bb%2Fc%3D%3D",
    "https://notes.example.org/in?state=1&ckSession=158__54__a+b/c==",
    "https://notes.example.org/in?ckSession=old&ckWebAuthToken=158__54__a%20b/c==#top",
    "https://notes.example.org/in?ckWebAuthToken=158__54__a b/c==",
    "cloudkit-icloud.org.example.notes://signed-in?ckWebAuthToken=158__54__a%2bb%2Fc%3D%3D",
    "CloudKit-iCloud.org.example.Notes:/?ckSession=158__54__a%2Bb/c==",
  ])
  func `the token is read out of each kind of callback, its plus signs restored`(callback: String) throws {
    let url = try #require(URL(string: callback))
    let credential = try CKCredential.webAuth(apiToken: "api", callback: url, container: "iCloud.org.example.Notes")
    #expect(token(credential) == "158__54__a+b/c==")
  }

  @Test(arguments: [
    "https://notes.example.org/in", "https://notes.example.org/in?ckWebAuthToken=&ckSession",
    "https://notes.example.org/in?token=secret", "cloudkit-icloud.other://in?ckWebAuthToken=secret", "about:blank",
  ])
  func `a callback without a token for this container is refused without quoting it`(callback: String) throws {
    let url = try #require(URL(string: callback))
    let error = #expect(throws: CKCredentialError.self) {
      try CKCredential.webAuth(apiToken: "api", callback: url, container: "iCloud.org.example.Notes")
    }
    #expect(error?.message.contains("secret") == false)
  }

  @Test func `from the sign-in page to requests as the user`() async throws {
    let required = #"""
      {"uuid":"5d2c","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"request needs authorization",
      "redirectURL":"https://idmsa.example/sign-in?x=1"}
      """#
    let server = ScriptedServer(
      .json(required, status: 421),
      .json(required, status: 421),
      .json(#"{"userRecordName":"_a"}"#),
      .json(#"{"zones":[]}"#)
    )
    let container = server.container()

    let error = await #expect(throws: CKError.self) { try await container.privateCloudDatabase.allRecordZones() }
    let page = try #require(URL(string: "https://idmsa.example/sign-in?x=1"))
    #expect(error?.signInURL == page)
    for text in ["\(error!)", String(reflecting: error!), error!.localizedDescription, error!._nsError.description] {
      #expect(!text.contains("idmsa"))
    }
    #expect(try await container.signInURL() == page)
    let callback = try #require(URL(string: "https://notes.example.org/?ckSession=a+b"))
    #expect(try await container.signIn(callback: callback).recordName == "_a")
    _ = try await container.privateCloudDatabase.allRecordZones()

    #expect(
      server.queries == ["ckAPIToken=token", "ckAPIToken=token"]
        + Array(repeating: "ckAPIToken=token&ckWebAuthToken=a%2Bb", count: 2)
    )
  }

  @Test func `a page of another kind than the web's is not handed out`() async throws {
    let server = ScriptedServer(
      .json(#"{"serverErrorCode":"AUTHENTICATION_REQUIRED","redirectURL":"file:///etc/passwd"}"#, status: 421)
    )
    let error = await #expect(throws: CKError.self) {
      try await server.container().privateCloudDatabase.allRecordZones()
    }
    #expect(error?.code == .notAuthenticated)
    #expect(error?.signInURL == nil)
  }

  @Test func `nobody signs in to a container without an API token`() async throws {
    let key = try CKServerToServerKey(keyID: "id", pemRepresentation: CKServerToServerKey.generate().privateKeyPEM)
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .serverToServerKey(key),
      transport: ScriptedServer()
    )
    let callback = try #require(URL(string: "https://notes.example.org/?ckSession=a"))
    await #expect(throws: CKCredentialError.self) { try await container.signIn(callback: callback) }
  }
}
