import Foundation
import Testing

@Suite(.serialized) struct ContractCommandTests {
  @Test func `a contract run reports each behaviour without private values`() async throws {
    let cloud = try await Cloud()
    let mine = try Machine(cloud, user: "zelda-7")
    let user = try #require(try await mine.run("account", "--json").object()["user"] as? String)

    let text = try await mine.succeed("doctor", "--contract")
    let objects = try await mine.succeed("doctor", "--contract", "--json").objects()

    let summary = try #require(text.lines.last)
    #expect(summary.contains(" as assumed, 0 otherwise, 11 not tried; "), "\(text.output)")
    #expect(summary.hasSuffix(" requests to another server, development"))
    #expect(text.lines.contains { $0.hasPrefix("as assumed  Question 11 [E]    existingZone: ") }, "\(text.output)")
    #expect(objects.count == text.lines.count - 1)
    for object in objects {
      let keys: Set = ["rule", "evidence", "assumption", "sentence", "outcome", "text"]
      #expect(Set(object.keys) == keys)
    }
    // The record type exists since the first run.
    #expect(objects.count { $0["outcome"] as? String == "notTried" } == 13)
    for secret in [Machine.container, "any-api-token", "zelda-7", user, cloud.url] {
      #expect(!text.output.contains(secret) && !"\(objects)".contains(secret))
    }
    withExtendedLifetime(cloud) {}
  }

  @Test func `another behaviour is reported with what came, and ends with 1`() async throws {
    let cloud = try await Cloud("--assume", "missingZone=succeeds")

    let end = try await Machine(cloud).run("doctor", "--contract")

    #expect(end.status == 1)
    let line = try #require(end.lines.first { $0.hasPrefix("otherwise") })
    #expect(line.contains("missingZone: ") && line.hasSuffix(" Came: deleted"))
    #expect(end.lines.count { $0.hasPrefix("otherwise") } == 1)
    withExtendedLifetime(cloud) {}
  }

  @Test func `a contract run needs a server, a user or a key, and leave to write`() async throws {
    let cloud = try await Cloud()
    let mine = try Machine(cloud)
    let settings = ["CLOUDKIT_URL": cloud.url, "CLOUDKIT_CONTAINER": Machine.container]

    try await Machine(settings).fail(3, "doctor", "--contract")
    try await Machine(settings.merging(["CLOUDKIT_API_TOKEN": "any"]) { $1 }).fail(3, "doctor", "--contract")
    try await mine.fail(2, "doctor", "--contract", "--read-only")
    await cloud.kill()
    try await mine.fail(5, "doctor", "--contract")
  }
}
