import CloudKit
import Crypto
import Foundation
import Testing

@Suite(.serialized) struct CredentialTests {

  @Test func `the signature of the protocol's example is valid for its message`() throws {
    let spki =
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENiuLqxMHrlm5zu+odG5a/5XYdNA1HdHZphl1sZUC"
      + "nQiSOgEjR1dq2Hh9BuIonB+U8JVzzboAmYrZ3HTPj7XDAA=="
    let signature =
      "MEYCIQCkrT0mbYIUq0A9eWuvlxz9P+gcV/uTLgfkQVo5rGgGWQIhAOsPhLgXVj1nZoafaDTeCRBMHYAgtpLFZgm74WzvVEXk"
    let message =
      "2026-01-02T03:04:05Z:pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=:"
      + "/database/1/iCloud.test.emulator/development/public/records/query"

    let key = try P256.Signing.PublicKey(derRepresentation: try #require(Data(base64Encoded: spki)))
    let parsed = try P256.Signing.ECDSASignature(derRepresentation: try #require(Data(base64Encoded: signature)))

    #expect(key.isValidSignature(parsed, for: Data(message.utf8)))
  }

  @Test func `a request is signed over its date, the hash of its body and its path`() throws {
    let generated = CKServerToServerKey.generate()
    let key = try CKServerToServerKey(keyID: generated.keyID, pemRepresentation: generated.privateKeyPEM)
    let path = "/database/1/iCloud.test.emulator/development/public/records/query"
    let date = Date(timeIntervalSince1970: 1_767_323_045.9)

    let headers = try key.signatureHeaders(body: Data(#"{"query":{"recordType":"Note"}}"#.utf8), path: path, date: date)

    #expect(
      headers.map(\.name) == [
        "X-Apple-CloudKit-Request-KeyID", "X-Apple-CloudKit-Request-ISO8601Date",
        "X-Apple-CloudKit-Request-SignatureV1",
      ]
    )
    #expect(headers[0].value == generated.keyID)
    #expect(headers[1].value == "2026-01-02T03:04:05Z")
    let message = "2026-01-02T03:04:05Z:pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=:" + path
    let publicKey = try P256.Signing.PublicKey(pemRepresentation: generated.publicKeyPEM)
    let der = try #require(Data(base64Encoded: headers[2].value))
    let signature = try P256.Signing.ECDSASignature(derRepresentation: der)
    #expect(publicKey.isValidSignature(signature, for: Data(message.utf8)))
  }

  @Test func `keys as openssl writes them are taken, with and without the curve's parameters`() throws {
    let key = P256.Signing.PrivateKey()
    // SEC 1: version 1, the secret number, the curve's name, the public point.
    let der =
      Data([0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20]) + key.rawRepresentation
      + Data([0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07])
      + Data([0xA1, 0x44, 0x03, 0x42, 0x00]) + key.publicKey.x963Representation
    let lines = der.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
    let pem = "-----BEGIN EC PRIVATE KEY-----\n\(lines)\n-----END EC PRIVATE KEY-----\n"
    let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"

    for text in [pem, parameters + pem, key.pemRepresentation] {
      let taken = try CKServerToServerKey(keyID: "id", pemRepresentation: text)
      let headers = try taken.signatureHeaders(body: Data(), path: "/p", date: Date(timeIntervalSince1970: 0))
      let der = try #require(Data(base64Encoded: headers[2].value))
      let message = "1970-01-01T00:00:00Z:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:/p"
      #expect(
        key.publicKey.isValidSignature(
          try P256.Signing.ECDSASignature(derRepresentation: der),
          for: Data(message.utf8)
        )
      )
    }
  }

  @Test func `a generated key's identifier is the hash of its public half`() throws {
    let generated = CKServerToServerKey.generate()

    let der = try P256.Signing.PublicKey(pemRepresentation: generated.publicKeyPEM).derRepresentation
    #expect(generated.keyID == SHA256.hash(data: der).map { String(format: "%02x", $0) }.joined())
    #expect(generated.keyID.count == 64)
  }

  @Test(arguments: [
    ("", "No private key"), ("-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----", "public half"),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----", "encrypted"),
    ("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----", "not a P-256 key"),
    (P384.Signing.PrivateKey().pemRepresentation, "not a P-256 key"),
  ])
  func `what is no P-256 private key is refused in words`(pem: String, expected: String) {
    let error = #expect(throws: CKCredentialError.self) {
      try CKServerToServerKey(keyID: "id", pemRepresentation: pem)
    }
    #expect(error?.message.contains(expected) == true)
  }

  @Test(arguments: ["", "a b", "a\r\nX-Evil: 1"])
  func `an identifier that could not be a header is refused`(keyID: String) {
    #expect(throws: CKCredentialError.self) {
      try CKServerToServerKey(keyID: keyID, pemRepresentation: CKServerToServerKey.generate().privateKeyPEM)
    }
  }

  @Test func `tokens are encoded down to the plus sign`() {
    let query = CKCredential.query(apiToken: "a1", webAuthToken: "106__54__A+b/c==__ü")

    #expect(query == "ckAPIToken=a1&ckWebAuthToken=106__54__A%2Bb%2Fc%3D%3D__%C3%BC")
    #expect(CKCredential.query(apiToken: "a b&c", webAuthToken: nil) == "ckAPIToken=a%20b%26c")
  }

  @Test func `no description shows a secret`() throws {
    let generated = CKServerToServerKey.generate()
    let key = try CKServerToServerKey(keyID: "key-id", pemRepresentation: generated.privateKeyPEM)
    let credentials: [CKCredential] = [
      .apiToken("SECRET"), .webAuth(apiToken: "SECRET", webAuthToken: "SECRET"), .serverToServerKey(key),
    ]
    var shown = ""
    for credential in credentials {
      dump(credential, to: &shown)
      shown += "\(credential)" + String(reflecting: credential) + "\(Optional(credential) as Any)"
    }
    dump(generated, to: &shown)
    dump(key, to: &shown)
    shown += "\(generated)"

    #expect(!shown.contains("SECRET"))
    #expect(!shown.contains("PRIVATE KEY"))
    #expect(shown.contains("key-id"))
  }
}
