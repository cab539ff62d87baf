import CloudKitEmulator
import Crypto
import Foundation
import Testing

/// Both positions of the switches about requests and credentials; the numbers are those of the questions.
@Suite(.serialized) struct RequestAssumptionTests {
  @Test func `2, what is signed for no body`() throws {
    let outcomes = { (setting: EmulatorAssumptions.EmptyBodySignature) in
      let key = P256.Signing.PrivateKey()
      var configuration = EmulatorConfiguration()
      configuration.assumptions.emptyBodySignature = setting
      let registered = try ServerKey(key.publicKey.pemRepresentation)
      configuration.serverKeys = [registered]
      let emulator = try Emulator(configuration: configuration)
      let path = "/database/1/iCloud.test/development/public/zones/list"
      return try ["", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="]
        .map { hash in
          let message = Data("2026-01-02T03:04:05Z:\(hash):\(path)".utf8)
          let signature = try key.signature(for: message).derRepresentation.base64EncodedString()
          let request = EmulatorRequest(
            method: "GET",
            path: path,
            headers: [
              EmulatorHeader("X-Apple-CloudKit-Request-KeyID", registered.keyID),
              EmulatorHeader("X-Apple-CloudKit-Request-ISO8601Date", "2026-01-02T03:04:05Z"),
              EmulatorHeader("X-Apple-CloudKit-Request-SignatureV1", signature),
            ]
          )
          return emulator.handle(request, at: AuthenticationTests.signedAt).response?.status
        }
    }

    #expect(try outcomes(.either) == [200, 200])
    #expect(try outcomes(.emptyText) == [200, 401])
    #expect(try outcomes(.hashOfNothing) == [401, 200])
  }

  @Test func `3, POST on the lists`() throws {
    let statuses = { (fixture: Fixture) in
      try ["GET", "POST"].flatMap { method in
        try [
          fixture.post("zones/list", method: method), fixture.post("subscriptions/list", method: method),
          fixture.post("users/caller", database: "public", method: method),
        ]
        .map(\.status)
      }
    }

    #expect(try statuses(.assuming()) == [200, 200, 200, 200, 200, 200])
    let strict = try Fixture.assuming { $0.listsTakePost = false }
    #expect(try statuses(strict) == [200, 200, 200, 405, 405, 405])
    #expect(try strict.post("zones/list").header("Allow") == "GET")
  }

  @Test func `20 and 26, how old and how new a signature may be`() throws {
    let statuses = { (change: (inout EmulatorAssumptions) -> Void) in
      let key = try ServerKey(
        "-----BEGIN PUBLIC KEY-----\n\(AuthenticationTests.publicKey)\n-----END PUBLIC KEY-----\n"
      )
      var configuration = EmulatorConfiguration()
      configuration.serverKeys = [key]
      change(&configuration.assumptions)
      let emulator = try Emulator(configuration: configuration)
      return [-600.0, -60, 60, 600]
        .map {
          let request = AuthenticationTests.vector(keyID: key.keyID)
          return emulator.handle(request, at: AuthenticationTests.signedAt.addingTimeInterval($0)).response?.status
        }
    }

    // 404: let in, and there is no such type.
    #expect(try statuses { _ in } == [404, 404, 404, 404])
    #expect(try statuses { $0.futureSkew = .zero } == [401, 401, 404, 404])
    #expect(try statuses { $0.signatureLifetime = .seconds(60) } == [404, 404, 404, 401])
  }

  @Test func `21, no credentials`() throws {
    let refused = try Fixture.assuming { $0.missingCredentials = .authenticationFailed }.post("zones/list", query: "")

    #expect(try Fixture.assuming().post("zones/list", query: "").status == 400)
    #expect(refused.status == 401 && refused.code == "AUTHENTICATION_FAILED")
  }

  @Test func `22, requests a second`() throws {
    let crowd = { (fixture: Fixture) in
      _ = try fixture.post("zones/list")
      return try (0..<3)
        .map { _ in
          // The clock does not move.
          fixture.pass(-1)
          return try fixture.post("zones/list")
        }
    }
    let limited = try Fixture.assuming { $0.requestsPerSecond = 2 }

    #expect(try crowd(.assuming()).map(\.status) == [200, 200, 200])
    let answers = try crowd(limited)
    #expect(answers.map(\.status) == [200, 429, 429])
    #expect(answers[1].code == "THROTTLED" && answers[1].object["retryAfter"] as? Int == 1)
    #expect(try limited.post("zones/list").status == 200)
    #expect(try crowd(limited).map(\.status) == [200, 429, 429])
    limited.pass(-1)
    #expect(try limited.post("zones/list", query: "ckAPIToken=t&ckWebAuthToken=bob").status == 200)
  }

  @Test func `25, Retry-After`() throws {
    let throttled = { (fixture: Fixture) in
      fixture.emulator.throttle(until: fixture.now.addingTimeInterval(11))
      return try fixture.post("zones/list")
    }
    let both = try throttled(.assuming())
    let body = try throttled(.assuming { $0.sendsRetryAfterHeader = false })

    #expect(both.header("Retry-After") == "10" && both.object["retryAfter"] as? Int == 10)
    #expect(body.header("Retry-After") == nil && body.object["retryAfter"] as? Int == 10)
  }
}
