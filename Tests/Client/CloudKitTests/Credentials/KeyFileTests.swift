import CloudKit
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct KeyFileTests {
  /// Writes a file with a mode, hands its path out, and removes it.
  private func withFile<Result>(_ text: String, mode: Int, _ body: (String) throws -> Result) throws -> Result {
    let folder = try TemporaryFolder()
    let path = try folder.file("key", text).path
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    return try withExtendedLifetime(folder) { try body(path) }
  }

  @Test(arguments: [0o600, 0o400])
  func `a key that only its owner can read is taken`(mode: Int) throws {
    try withFile(CKServerToServerKey.generate().privateKeyPEM, mode: mode) { path in
      let key = try CKServerToServerKey.load(keyID: "id", file: path)
      #expect(key.keyID == "id")
    }
  }

  @Test(arguments: [0o640, 0o604, 0o644, 0o620, 0o666])
  func `a key that others can read is refused with the remedy`(mode: Int) throws {
    try withFile(CKServerToServerKey.generate().privateKeyPEM, mode: mode) { path in
      let error = #expect(throws: CKCredentialError.self) { try CKServerToServerKey.load(keyID: "id", file: path) }
      #expect(error?.message.contains("chmod 600 \(path)") == true)
    }
  }

  @Test func `a missing file, a folder and a file without a key are refused`() throws {
    for path in ["/no/such/key.pem", "/"] {
      let error = #expect(throws: CKCredentialError.self) { try CKServerToServerKey.load(keyID: "id", file: path) }
      #expect(error?.message.hasPrefix(path) == true)
    }
    try withFile("hello", mode: 0o600) { path in
      let error = #expect(throws: CKCredentialError.self) { try CKServerToServerKey.load(keyID: "id", file: path) }
      #expect(error?.message.contains("No private key") == true)
    }
  }

  @Test func `the environment describes each kind of credential`() throws {
    #expect(try CKCredential.fromEnvironment(["CLOUDKIT_KEY_ID": " "]) == nil)
    #expect(try CKCredential.fromEnvironment(["CLOUDKIT_API_TOKEN": "a"])?.description == "API token")
    let tokens = ["CLOUDKIT_API_TOKEN": "a", "CLOUDKIT_WEB_AUTH_TOKEN": "b c\n"]
    guard case .webAuth("a", "b+c") = try CKCredential.fromEnvironment(tokens) else {
      Issue.record("expected a web-auth token with its plus sign restored")
      return
    }
    try withFile(CKServerToServerKey.generate().privateKeyPEM, mode: 0o600) { path in
      let credential = try CKCredential.fromEnvironment(["CLOUDKIT_KEY_ID": "id", "CLOUDKIT_KEY_FILE": path])
      #expect(credential?.description == "server-to-server key id")
    }
  }

  @Test(arguments: [
    ["CLOUDKIT_KEY_ID": "a", "CLOUDKIT_API_TOKEN": "b"], ["CLOUDKIT_KEY_ID": "a"], ["CLOUDKIT_KEY_FILE": "a"],
    ["CLOUDKIT_WEB_AUTH_TOKEN": "a"],
  ])
  func `half a credential or two of them are refused in one line`(environment: [String: String]) {
    let error = #expect(throws: CKCredentialError.self) { try CKCredential.fromEnvironment(environment) }
    #expect(error?.message.contains("\n") == false)
    #expect(error?.message.contains("CLOUDKIT_") == true)
  }
}
