import Foundation
import TestSupport
import Testing

/// Names that no server takes, on the command line and in files.
@Suite(.serialized) struct NameCommandTests {
  private static let settings = [
    "CLOUDKIT_CONTAINER": Machine.container, "CLOUDKIT_URL": "http://127.0.0.1:9", "CLOUDKIT_DATABASE": "private",
  ]

  @Test func `a wrong name is a wrong command, and makes no store`() async throws {
    let machine = try Machine(Self.settings)
    let put = ["records", "put", "--type", "City", "a=1"]
    let wrong = [
      put + ["--name", "São Paulo"], put + ["--name", String(repeating: "x", count: 256)], put + ["--name", "_x"],
      put + ["--name", "a\tb"], put + ["--zone", "_z"], put + ["--zone", "Zürich"], ["zones", "create", "_z"],
      ["zones", "create", "Zürich"], ["zones", "create", "a\u{1B}b"],
    ]

    for arguments in wrong { _ = try await machine.failing(2, arguments) }
    #expect(!FileManager.default.fileExists(atPath: machine.folder.path("state")))

    try await machine.succeed("records", "put", "--type", "City", "--name", "oslo", "a=1")
    for arguments in wrong { _ = try await machine.failing(2, arguments) }
    _ = try await machine.failing(1, ["zones", "pause", "_z"])
    let link = try await machine.fail(
      2,
      "records",
      "put",
      "--type",
      "City",
      "--name",
      "oslo",
      "twin:REFERENCE=São Paulo"
    )
    #expect(link.contains("twin refers to no record"))
    #expect(try await machine.succeed("queue", "list", "--json").objects().count == 1)
  }

  @Test func `a line of an import that names no possible record is refused, and the others are taken`() async throws {
    let machine = try Machine(Self.settings)
    let file = try machine.folder.write("id,twin\nOslo,Bergen\nSão Paulo,Oslo\nBergen,_ana\nRome,Málaga\n", to: "c.csv")
    let arguments = [
      "records", "import", file, "--type", "City", "--id", "id", "--reference", "twin=City", "--json",
    ]

    let first = try await machine.running(arguments)
    let second = try await machine.running(arguments, settings: ["CKTOP_UNICODE_NAMES": "1"])

    #expect(first.status == 1)
    let refused = try #require(try first.object()["refused"] as? [[String: Any]])
    #expect(refused.map { $0["line"] as? Int } == [3, 5])
    #expect(try first.object()["enqueued"] as? Int == 2)
    #expect(second.status == 0)
    #expect(try second.object()["enqueued"] as? Int == 2)
    #expect(try second.object()["unchanged"] as? Int == 2)
  }
}
