import Foundation
import Testing

@testable import cktop

/// Whose changes are sent as whom.
@Suite(.serialized) struct SignInCommandTests {
  private let ben = ["CLOUDKIT_WEB_AUTH_TOKEN": "ben"]

  @Test func `what was queued before anybody synced waits for who queued it`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine")

    let refusal = try await machine.fail(3, "sync", settings: ben)
    #expect(refusal.contains("holds a change queued with another sign-in"))
    try await machine.succeed("sync")
    try await machine.succeed("sync", settings: ben)

    #expect(try await machine.succeed("records", "list", "--json").lines.count == 1)
    #expect(try await machine.succeed("records", "list", "--json", settings: ben).lines.isEmpty)
    withExtendedLifetime(cloud) {}
  }

  @Test func `who names the store has what is in it sent as themselves`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine")
    let refusal = try await machine.fail(3, "sync", settings: ben)
    let path = try #require(refusal.firstMatch(of: /--store '?([^']+?)'? goes on/)?.1)

    try await machine.succeed("sync", "--store", String(path), settings: ben)

    try await machine.succeed("sync", settings: ben)
    #expect(try await machine.succeed("records", "list", settings: ben).output.contains("a"))
    withExtendedLifetime(cloud) {}
  }

  @Test func `a store in which nothing is queued is whoever's comes`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Note", "--name", "a", "title=mine")
    try await machine.succeed("queue", "discard", "--all", "--yes")

    try await machine.succeed("records", "put", "--type", "Note", "--name", "b", "title=ben's", settings: ben)
    try await machine.succeed("sync", settings: ben)

    #expect(try await machine.succeed("records", "list", settings: ben).output.contains("b"))
    withExtendedLifetime(cloud) {}
  }
}
